package packet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// ChunkHeaderLen is the size of a chunk's type, flags and length in bytes.
const ChunkHeaderLen = 4

// The ways in which a length can lie; errors.Is finds them in a *LengthError.
var (
	ErrCutShort = errors.New("fewer bytes left than a header takes")
	ErrTooSmall = errors.New("length is smaller than the header")
	ErrPastEnd  = errors.New("length goes past the end")
)

// LengthError tells where a chunk, parameter or cause has a length that cannot be.
type LengthError struct {
	What   string // "chunk", "parameter" or the name of the chunk type
	Offset int    // of the faulty element in bytes, from the start of what was read
	Length int    // as claimed; 0 when not even that could be read
	Left   int    // bytes from Offset to the end
	Fault  error  // ErrCutShort, ErrTooSmall or ErrPastEnd
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("%s at offset %d: %v (length %d, %d bytes left)", e.What, e.Offset, e.Fault, e.Length, e.Left)
}

// Unwrap gives the fault.
func (e *LengthError) Unwrap() error { return e.Fault }

// Chunk is one chunk of a packet (RFC 9260 section 3.2). Its slices point into the packet.
type Chunk struct {
	Type  ChunkType
	Flags uint8
	Value []byte // without header and padding
	Raw   []byte // with header, without padding
}

// Chunks walks the chunks of a whole packet, header included. It ends with one error, ErrShortHeader or a *LengthError
// whose Offset counts from the start of the packet, where the packet is malformed; the chunks before it are good.
func Chunks(b []byte) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if len(b) < HeaderLen {
			yield(Chunk{}, ErrShortHeader)
			return
		}
		for offset := HeaderLen; offset < len(b); {
			c, next, err := ChunkAt(b, offset)
			if !yield(c, err) || err != nil {
				return
			}
			offset = next
		}
	}
}

// ChunkAt reads the chunk at an offset of b and tells where the next one starts: len(b) after the last.
// The error is a *LengthError.
func ChunkAt(b []byte, offset int) (c Chunk, next int, err error) {
	length, next, err := element("chunk", b, offset)
	if err != nil {
		return Chunk{}, 0, err
	}
	raw := b[offset : offset+length : offset+length]
	return Chunk{Type: ChunkType(raw[0]), Flags: raw[1], Value: raw[ChunkHeaderLen:], Raw: raw}, next, nil
}

// AppendChunk writes header, value and padding of a chunk; the value is at most 65,531 bytes long.
func AppendChunk(dst []byte, t ChunkType, flags uint8, value []byte) []byte {
	dst = append(dst, byte(t), flags)
	dst = binary.BigEndian.AppendUint16(dst, uint16(ChunkHeaderLen+len(value)))
	dst = append(dst, value...)
	return appendPadding(dst, len(value))
}

// element checks the length at b[offset+2:], which chunks, parameters and causes share, and finds the next element.
func element(what string, b []byte, offset int) (length, next int, err error) {
	left := len(b) - offset
	if left < ChunkHeaderLen {
		return 0, 0, &LengthError{What: what, Offset: offset, Left: left, Fault: ErrCutShort}
	}
	length = int(binary.BigEndian.Uint16(b[offset+2:]))
	switch {
	case length < ChunkHeaderLen:
		return 0, 0, &LengthError{What: what, Offset: offset, Length: length, Left: left, Fault: ErrTooSmall}
	case length > left:
		return 0, 0, &LengthError{What: what, Offset: offset, Length: length, Left: left, Fault: ErrPastEnd}
	}
	return length, min(offset+(length+3)&^3, len(b)), nil
}

func appendPadding(dst []byte, length int) []byte {
	return append(dst, []byte{0, 0, 0}[:-length&3]...)
}
