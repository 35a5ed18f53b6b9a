package key_test

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// vector is a message and the key it has on association 1.
type vector struct {
	name    string
	ppid    uint32
	payload []byte
	key     string // as Format prints it
}

const association1 = "association:0000000000000001"

// unhex reads bytes from hexadecimal with spaces.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()

	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		tb.Fatal(err)
	}

	return b
}

// vectors are valid messages of all protocols.
func vectors(tb testing.TB) []vector {
	tb.Helper()

	return slices.Concat(s1apVectors(tb), ngapVectors(tb), m3uaVectors(tb), diameterVectors(tb), h248Vectors(tb), esspVectors(tb), []vector{
		{"no protocol", 0, []byte("anything"), association1},
		{"M2UA", 2, unhex(tb, "01 00 06 01 00000008"), association1},
		{"X2AP", 27, unhex(tb, "00 06 00 04 00 00 00 00"), association1},
		{"empty, unknown protocol", 12345, nil, association1},
		{"PPID in the wrong byte order", 18 << 24, s1ap(0, 12, ie(8, "00 07")), association1},
	})
}

// per builds an S1AP or NGAP message: TS 36.413 and TS 38.413 section 9.4, X.691.
func per(choice, procedure byte, elements ...[]byte) []byte {
	value := []byte{0} // no extension
	value = binary.BigEndian.AppendUint16(value, uint16(len(elements)))
	value = append(value, slices.Concat(elements...)...)

	return append([]byte{choice << 5, procedure, 0x40}, openType(value)...)
}

func s1ap(choice, procedure byte, elements ...[]byte) []byte {
	return per(choice, procedure, elements...)
}

// openType puts length determinants before (and, from 16K on, within) a value, X.691 section 11.9.
func openType(value []byte) []byte {
	var out []byte

	for len(value) >= 16384 {
		units := min(len(value)/16384, 4)
		out = append(append(out, 0xC0|byte(units)), value[:units*16384]...)
		value = value[units*16384:]
	}

	if len(value) < 128 {
		return append(append(out, byte(len(value))), value...)
	}

	return append(append(out, 0x80|byte(len(value)>>8), byte(len(value))), value...)
}

// element builds an information element.
func element(id uint16, value []byte) []byte {
	return append(append(binary.BigEndian.AppendUint16(nil, id), 0x00), openType(value)...)
}

// ie builds an information element of a value in hexadecimal.
func ie(id uint16, value string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(value), ""))
	if err != nil {
		panic(err)
	}

	return element(id, b)
}
