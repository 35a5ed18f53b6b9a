package ledger

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protobuf message as it lies there.
type field struct {
	number int
	kind   protowire.Type
	value  []byte // behind the tag
}

// fields calls read for each field of a message and gives back, encoded, those that it does not know.
func fields(b []byte, read func(field) (known bool, err error)) (unknown []byte, err error) {
	for len(b) > 0 {
		number, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return nil, fmt.Errorf("%w: %w", ErrBody, protowire.ParseError(tag))
		}
		n := protowire.ConsumeFieldValue(number, kind, b[tag:])
		if n < 0 {
			return nil, fmt.Errorf("%w: field %d: %w", ErrBody, number, protowire.ParseError(n))
		}
		known, err := read(field{number: int(number), kind: kind, value: b[tag : tag+n]})
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

func (f field) varint() (uint64, error) {
	v, n := protowire.ConsumeVarint(f.value)
	if f.kind != protowire.VarintType || n < 0 {
		return 0, fmt.Errorf("%w: field %d is no number", ErrBody, f.number)
	}
	return v, nil
}

func (f field) limited(limit uint64) (uint64, error) {
	v, err := f.varint()
	if err == nil && v > limit {
		return 0, fmt.Errorf("%w: field %d: %d is over %d", ErrBody, f.number, v, limit)
	}
	return v, err
}

func (f field) uint16() (uint16, error) {
	v, err := f.limited(math.MaxUint16)
	return uint16(v), err
}

func (f field) uint32() (uint32, error) {
	v, err := f.limited(math.MaxUint32)
	return uint32(v), err
}

func (f field) int64() (int64, error) {
	v, err := f.varint()
	return int64(v), err
}

func (f field) bytes() ([]byte, error) {
	b, n := protowire.ConsumeBytes(f.value)
	if f.kind != protowire.BytesType || n < 0 {
		return nil, fmt.Errorf("%w: field %d is no string", ErrBody, f.number)
	}
	return b, nil
}

func (f field) message(read func(field) (known bool, err error)) (unknown string, err error) {
	b, err := f.bytes()
	if err != nil {
		return "", err
	}
	u, err := fields(b, read)
	return string(u), err
}
