package packet

import (
	"encoding/binary"
	"iter"
)

// Parameter is a TLV of an INIT or INIT-ACK chunk (RFC 9260 section 3.2.1), or an error cause of an ABORT or ERROR
// chunk (section 3.3.10), which is built the same way. Its slices point into the packet.
type Parameter struct {
	Type  uint16
	Value []byte // without header and padding
	Raw   []byte // with header, without padding
}

// Parameters walks parameters or causes. It ends with one *LengthError, whose Offset counts from the start of b, where
// they are malformed.
func Parameters(b []byte) iter.Seq2[Parameter, error] {
	return func(yield func(Parameter, error) bool) {
		for offset := 0; offset < len(b); {
			length, next, err := element("parameter", b, offset)
			if err != nil {
				yield(Parameter{}, err)
				return
			}
			raw := b[offset : offset+length : offset+length]
			p := Parameter{Type: binary.BigEndian.Uint16(raw), Value: raw[ChunkHeaderLen:], Raw: raw}
			if !yield(p, nil) {
				return
			}
			offset = next
		}
	}
}

// AppendParameter writes header, value and padding of a parameter or cause; the value is at most 65,531 bytes long.
func AppendParameter(dst []byte, t uint16, value []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, t)
	dst = binary.BigEndian.AppendUint16(dst, uint16(ChunkHeaderLen+len(value)))
	dst = append(dst, value...)
	return appendPadding(dst, len(value))
}
