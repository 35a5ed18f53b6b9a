package key_test

import (
	"encoding/binary"
	"slices"
	"testing"
)

// m3ua builds a message of RFC 4666 section 3.1.
func m3ua(class, kind byte, parameters ...[]byte) []byte {
	body := slices.Concat(parameters...)

	return append(binary.BigEndian.AppendUint32([]byte{1, 0, class, kind}, uint32(8+len(body))), body...)
}

// parameter builds a parameter with its padding, RFC 4666 section 3.2.
func parameter(tag uint16, value []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, tag)
	b = append(binary.BigEndian.AppendUint16(b, uint16(4+len(value))), value...)

	return append(b, make([]byte, -len(b)&3)...)
}

// data builds the protocol data of RFC 4666 section 3.3.1.
func data(opc, dpc uint32, service, selection byte, user ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, opc)
	b = binary.BigEndian.AppendUint32(b, dpc)

	return parameter(0x0210, append(append(b, service, 2, 0, selection), user...))
}

func m3uaVectors(tb testing.TB) []vector {
	tb.Helper()

	// Service information octet (national, ISUP), DPC 12163, OPC 11522, link 5, circuit 213: Q.704
	// section 15.2 as in drafts of M3UA.
	draft := unhex(tb, "c5 83af405b d500 01 00")

	return []vector{
		{"ISUP", 3, m3ua(1, 1, data(200, 400, 5, 0, 0x01, 0x00, 0x06)), "isup:pc=200-400/cic=1"},
		{"ISUP, other direction", 3, m3ua(1, 1, data(400, 200, 5, 9, 0x01, 0x00, 0x06)), "isup:pc=200-400/cic=1"},
		{"ISUP, largest circuit, spare bits set", 3, m3ua(1, 1, data(1, 1, 5, 0, 0xFF, 0xFF)), "isup:pc=1-1/cic=4095"},
		{"SCCP", 3, m3ua(1, 1, data(600, 500, 3, 7, 0x09)), "sccp:pc=500-600/sls=7"},
		{"BICC", 3, m3ua(1, 1, data(600, 500, 13, 7, 0x09)), "m3ua:pc=500-600/si=13/sls=7"},
		{"no user data", 3, m3ua(1, 1, data(600, 500, 0, 7)), "m3ua:pc=500-600/si=0/sls=7"},
		{"24-bit point codes", 3, m3ua(1, 1, data(0xFFFFFF, 0x010203, 3, 255)), "sccp:pc=66051-16777215/sls=255"},
		{
			"behind network appearance and routing context", 3,
			m3ua(1, 1, parameter(0x0200, []byte{0, 0, 0, 8}), parameter(6, []byte{0, 0, 0, 1}), data(1, 2, 3, 4)), "sccp:pc=1-2/sls=4",
		},
		{"behind a padded parameter", 3, m3ua(1, 1, parameter(4, []byte("info!")), data(1, 2, 3, 4)), "sccp:pc=1-2/sls=4"},
		{"draft 6", 3, m3ua(1, 1, parameter(2, draft)), "isup:pc=11522-12163/cic=213"},
		{"padding not counted", 3, append(m3ua(1, 1, unhex(tb, "0210 0011 00000001 00000002 03000004 09")), 0, 0, 0), "sccp:pc=1-2/sls=4"},
		{"padding missing", 3, m3ua(1, 1, unhex(tb, "0210 0011 00000001 00000002 03000004 09")), "sccp:pc=1-2/sls=4"},
		{"ASP up", 3, m3ua(3, 1), association1},
		{"ASP active ack", 3, m3ua(4, 3, parameter(6, []byte{0, 0, 0, 1})), association1},
		{"destination unavailable", 3, m3ua(2, 1, parameter(0x12, []byte{0, 0, 0, 9})), association1},
		{"error", 3, m3ua(0, 0, parameter(0x0C, []byte{0, 0, 0, 1})), association1},
		{"reserved transfer message", 3, m3ua(1, 2, parameter(9, nil)), association1},
	}
}

// TestM3UAFaults has messages that lie.
func TestM3UAFaults(t *testing.T) {
	good := m3ua(1, 1, data(1, 2, 5, 4, 1, 0))
	change := func(at int, b ...byte) []byte {
		out := slices.Clone(good)
		copy(out[at:], b)

		return out
	}

	for _, c := range []struct {
		fault   string
		payload []byte
	}{
		{"common header: cut short", nil},
		{"common header: cut short", good[:7]},
		{"version: not 1", change(0, 2)},
		{"message length: past the end", change(4, 0xFF)},
		{"message length: past the end", change(7, byte(len(good)+1))},
		{"message length: past the end", change(7, 7)},
		{"message length: bytes after the end", change(7, byte(len(good)-4))},
		{"message length: bytes after the end", append(slices.Clone(good), 0, 0, 0, 0)},
		{"parameter: cut short", m3ua(1, 1, []byte{0, 6, 0})},
		{"parameter length: past the end", m3ua(1, 1, []byte{0, 6, 0, 5})},
		{"parameter length: past the end", change(10, 0xFF)},
		{"parameter length: past the end", change(10, 0, 3)},
		{"parameter length: past the end", change(10, 0, 0)},
		{"protocol data: missing", m3ua(1, 1)},
		{"protocol data: missing", m3ua(1, 1, parameter(6, []byte{0, 0, 0, 1}))},
		{"protocol data: cut short", m3ua(1, 1, parameter(0x0210, make([]byte, 11)))},
		{"protocol data: cut short", m3ua(1, 1, parameter(2, make([]byte, 4)))},
		{"circuit identification code: cut short", m3ua(1, 1, data(1, 2, 5, 4))},
		{"circuit identification code: cut short", m3ua(1, 1, data(1, 2, 5, 4, 1))},
	} {
		wantFault(t, 3, c.payload, "m3ua: "+c.fault)
	}
}

func BenchmarkM3UA(b *testing.B) {
	benchmark(b, 3, m3ua(1, 1, parameter(0x0200, []byte{0, 0, 0, 8}), parameter(6, []byte{0, 0, 0, 1}), data(1, 2, 5, 4, 1, 0, 6)))
}
