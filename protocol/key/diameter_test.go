package key_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
)

// diameter builds a message of RFC 6733 section 3.
func diameter(command uint32, avps ...[]byte) []byte {
	body := slices.Concat(avps...)
	b := binary.BigEndian.AppendUint32(nil, 1<<24|uint32(20+len(body)))
	b = binary.BigEndian.AppendUint32(b, 0x80<<24|command)

	return append(append(b, make([]byte, 12)...), body...)
}

// avp builds an AVP with its padding, RFC 6733 section 4.1.
func avp(code uint32, value string) []byte {
	b := binary.BigEndian.AppendUint32(nil, code)
	b = binary.BigEndian.AppendUint32(b, 0x40<<24|uint32(8+len(value)))
	b = append(b, value...)

	return append(b, make([]byte, -len(b)&3)...)
}

// vendorAVP builds an AVP with the V bit.
func vendorAVP(code, vendor uint32, value string) []byte {
	b := binary.BigEndian.AppendUint32(nil, code)
	b = binary.BigEndian.AppendUint32(b, 0xC0<<24|uint32(12+len(value)))
	b = append(binary.BigEndian.AppendUint32(b, vendor), value...)

	return append(b, make([]byte, -len(b)&3)...)
}

func diameterVectors(tb testing.TB) []vector {
	tb.Helper()

	longest := strings.Repeat("s", 158)
	sum := xxh3.HashString128(longest + "s")

	return []vector{
		{"CCR", 46, diameter(272, avp(263, "pgw;1;2;3"), avp(264, "pgw")), "diameter:pgw;1;2;3"},
		{"behind others with padding", 46, diameter(272, avp(264, "a"), avp(296, "bc"), avp(1, "def"), avp(263, "s")), "diameter:s"},
		{"a vendor's AVP 263", 46, diameter(272, vendorAVP(263, 10415, "no"), avp(263, "yes")), "diameter:yes"},
		{"vendor 0", 46, diameter(272, vendorAVP(263, 0, "yes")), "diameter:yes"},
		{"a group is not entered", 46, diameter(272, avp(456, string(avp(263, "no"))), avp(263, "yes")), "diameter:yes"},
		{"last padding missing", 46, unhex(tb, "0100001d 80000110 00000000 00000000 00000000 00000107 40000009 73"), "diameter:s"},
		{"not printable", 46, diameter(272, avp(263, "a b%\x00é")), "diameter:a%20b%25%00%C3%A9"},
		{"longest", 46, diameter(272, avp(263, longest)), "diameter:" + longest},
		{"too long", 46, diameter(272, avp(263, longest+"s")), fmt.Sprintf("diameter-xxh3:%016x%016x", sum.Hi, sum.Lo)},
		{"CER", 46, diameter(257, avp(264, "pgw"), vendorAVP(257, 10415, "x")), association1},
		{"DWR without AVPs", 46, diameter(280), association1},
	}
}

// TestDiameterFaults has messages that lie.
func TestDiameterFaults(t *testing.T) {
	good := diameter(272, avp(264, "pgw"), avp(263, "s;1"))
	change := func(at int, b ...byte) []byte {
		out := slices.Clone(good)
		copy(out[at:], b)

		return out
	}

	for _, c := range []struct {
		fault   string
		payload []byte
	}{
		{"header: cut short", nil},
		{"header: cut short", good[:19]},
		{"version: not 1", change(0, 2)},
		{"message length: past the end", change(1, 0xFF)},
		{"message length: past the end", change(1, 0, 0, 19)},
		{"message length: bytes after the end", change(1, 0, 0, 20)},
		{"AVP: header cut short", diameter(272, make([]byte, 7))},
		{"AVP length: past the end", change(25, 0xFF)},
		{"AVP length: shorter than its header", change(25, 0, 0, 7)},
		{"AVP length: shorter than its header", change(25, 0, 0, 0)},
		{"AVP length: shorter than its header", change(24, 0x80, 0, 0, 11)},
		{"Session-Id: empty", diameter(272, avp(263, ""))},
	} {
		wantFault(t, 46, c.payload, "diameter: "+c.fault)
	}
}

func BenchmarkDiameter(b *testing.B) {
	benchmark(b, 46, diameter(272, avp(263, "pgw.epc.mnc070.mcc999.example;1876543210;523;internet"), avp(264, "pgw")))
}

func BenchmarkDiameterHashed(b *testing.B) {
	benchmark(b, 46, diameter(272, avp(263, strings.Repeat("s", 200))))
}
