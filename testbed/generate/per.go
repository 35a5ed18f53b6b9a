package generate

import "encoding/binary"

// Aligned PER (ITU-T X.691), as much of it as S1AP and NGAP messages need.

// element is an information element of a protocol IE container (TS 36.413 and TS 38.413, section 9.4).
type element struct {
	id       uint16
	critical byte // criticality: 0x00 reject, 0x40 ignore
	value    []byte
}

const (
	reject = 0x00
	ignore = 0x40
)

// The alternatives of a PDU.
const (
	initiatingMessage = 0x00
	successfulOutcome = 0x20
)

// apPDU encodes a PDU: alternative, procedure code, criticality, and an open type that holds the sequence of elements.
func apPDU(alternative, procedure, critical byte, elements ...element) []byte {
	body := []byte{0} // no extension
	body = binary.BigEndian.AppendUint16(body, uint16(len(elements)))
	for _, e := range elements {
		body = binary.BigEndian.AppendUint16(body, e.id)
		body = append(body, e.critical)
		body = appendOpen(body, e.value)
	}
	return appendOpen([]byte{alternative, procedure, critical}, body)
}

// appendOpen writes an open type or octet string: its length (X.691 section 11.9) and its bytes, at most 16,383.
func appendOpen(dst, value []byte) []byte {
	if len(value) < 128 {
		dst = append(dst, byte(len(value)))
	} else {
		dst = binary.BigEndian.AppendUint16(dst, 0x8000|uint16(len(value)))
	}
	return append(dst, value...)
}

// constrained encodes an integer of a range over 64 K (X.691 section 11.5.7.4): the number of its bytes less one in the
// highest bits, as many as the range asks for, then its bytes.
func constrained(value uint64, lengthBits int) []byte {
	bytes := 1
	for v := value >> 8; v > 0; v >>= 8 {
		bytes++
	}
	out := []byte{byte(bytes-1) << (8 - lengthBits)}
	for i := bytes - 1; i >= 0; i-- {
		out = append(out, byte(value>>(8*i)))
	}
	return out
}
