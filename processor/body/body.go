// Package body reads and writes the protobuf bodies of session records field by field. Fields that a newer version of the program added are given
// back to be kept, so that two versions can work on the same sessions.
package body

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed is what each error of this package wraps: the body is not what its reader expects.
var ErrMalformed = errors.New("malformed body")

// Field is one field of a protobuf message as it lies there.
type Field struct {
	Number int // as in the message's definition

	kind  protowire.Type
	value []byte // behind the tag
}

// Fields calls read for each field of a message and gives back, encoded, those that it does not know.
func Fields(b []byte, read func(Field) (known bool, err error)) (unknown []byte, err error) {
	for len(b) > 0 {
		number, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(tag))
		}
		n := protowire.ConsumeFieldValue(number, kind, b[tag:])
		if n < 0 {
			return nil, fmt.Errorf("%w: field %d: %w", ErrMalformed, number, protowire.ParseError(n))
		}
		known, err := read(Field{Number: int(number), kind: kind, value: b[tag : tag+n]})
		if err != nil {
			return nil, err
		}
		if !known {
			unknown = append(unknown, b[:tag+n]...)
		}
		b = b[tag+n:]
	}
	return unknown, nil
}

// Varint is the value of a number.
func (f Field) Varint() (uint64, error) {
	v, n := protowire.ConsumeVarint(f.value)
	if f.kind != protowire.VarintType || n < 0 {
		return 0, fmt.Errorf("%w: field %d is no number", ErrMalformed, f.Number)
	}
	return v, nil
}

func (f Field) limited(limit uint64) (uint64, error) {
	v, err := f.Varint()
	if err == nil && v > limit {
		return 0, fmt.Errorf("%w: field %d: %d is over %d", ErrMalformed, f.Number, v, limit)
	}
	return v, err
}

// Uint16 is the value of a number of at most 16 bits.
func (f Field) Uint16() (uint16, error) {
	v, err := f.limited(math.MaxUint16)
	return uint16(v), err
}

// Uint8 is the value of a number of at most 8 bits.
func (f Field) Uint8() (uint8, error) {
	v, err := f.limited(math.MaxUint8)
	return uint8(v), err
}

// Bool is the value of a flag.
func (f Field) Bool() (bool, error) {
	v, err := f.limited(1)
	return v == 1, err
}

// Uint32 is the value of a number of at most 32 bits.
func (f Field) Uint32() (uint32, error) {
	v, err := f.limited(math.MaxUint32)
	return uint32(v), err
}

// Int64 is the value of a number that may be negative.
func (f Field) Int64() (int64, error) {
	v, err := f.Varint()
	return int64(v), err
}

// Bytes is the value of a string. It lies in the body.
func (f Field) Bytes() ([]byte, error) {
	b, n := protowire.ConsumeBytes(f.value)
	if f.kind != protowire.BytesType || n < 0 {
		return nil, fmt.Errorf("%w: field %d is no string", ErrMalformed, f.Number)
	}
	return b, nil
}

// Message reads the fields of a contained message, and gives back those that read does not know, as Fields does.
func (f Field) Message(read func(Field) (known bool, err error)) (unknown string, err error) {
	b, err := f.Bytes()
	if err != nil {
		return "", err
	}
	u, err := Fields(b, read)
	return string(u), err
}

// AppendVarint writes a number; 0 is left out.
func AppendVarint(dst []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}

// AppendBool writes a flag; false is left out.
func AppendBool(dst []byte, field protowire.Number, v bool) []byte {
	if !v {
		return dst
	}
	return AppendVarint(dst, field, 1)
}

// AppendString writes a string; the empty one is left out.
func AppendString[T ~string | ~[]byte](dst []byte, field protowire.Number, v T) []byte {
	if len(v) == 0 {
		return dst
	}
	return AppendMessage(dst, field, []byte(v))
}

// AppendMessage writes a contained message, also an empty one.
func AppendMessage(dst []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), m)
}
