package key_test

import (
	"bytes"
	"slices"
	"testing"
)

// tlv builds a value in BER with a definite length, X.690 section 8.1.3.
func tlv(tag byte, contents ...[]byte) []byte {
	c := slices.Concat(contents...)

	switch {
	case len(c) < 128:
		return append([]byte{tag, byte(len(c))}, c...)
	case len(c) < 256:
		return append([]byte{tag, 0x81, byte(len(c))}, c...)
	default:
		return append([]byte{tag, 0x82, byte(len(c) >> 8), byte(len(c))}, c...)
	}
}

// open builds a value in BER with an indefinite length.
func open(tag byte, contents ...[]byte) []byte {
	return append(append([]byte{tag, 0x80}, slices.Concat(contents...)...), 0, 0)
}

// megaco builds a message of H.248.1 annex A around transactions: version 1, mId an IPv4
// address (mId [1] is explicit as MId is a CHOICE, of which ip4Address is [0]).
func megaco(make func(tag byte, contents ...[]byte) []byte, transactions ...[]byte) []byte {
	mID := tlv(0xA1, tlv(0xA0, tlv(0x80, []byte{192, 0, 2, 1})))

	return make(0x30, make(0xA1, tlv(0x80, []byte{1}), mID, make(0xA2, make(0xA1, transactions...))))
}

// request builds a TransactionRequest of actions with context ids.
func request(make func(tag byte, contents ...[]byte) []byte, contexts ...[]byte) []byte {
	var actions [][]byte
	for _, c := range contexts {
		actions = append(actions, make(0x30, tlv(0x80, c), make(0xA3, tlv(0x30, tlv(0xA0)))))
	}

	return make(0xA0, tlv(0x80, []byte{9}), make(0xA1, actions...))
}

// reply builds a TransactionReply; its result is a CHOICE, of which actionReplies is [1].
func reply(contexts ...[]byte) []byte {
	var actions [][]byte
	for _, c := range contexts {
		actions = append(actions, tlv(0x30, tlv(0x80, c)))
	}

	return tlv(0xA2, tlv(0x80, []byte{9}), tlv(0x81), tlv(0xA2, tlv(0xA1, actions...)))
}

func h248Vectors(tb testing.TB) []vector {
	tb.Helper()

	const (
		context = "h248:assoc=0000000000000001/context="
		head    = "MEGACO/1 [192.0.2.1]:2944\n"
		// A session description has a line that looks like the short token of a context, a quote and
		// an escaped brace.
		local = "Media { Local {\nv=0\nc=IN IP4 192.0.2.9\ns=\"\\} C=9 {\n} }"
	)

	text := func(name, message, key string) vector { return vector{name, 7, []byte(message), key} }

	many := bytes.Repeat([]byte{0, 0, 0, 0, 0}, 60) // makes lengths of two octets

	return []vector{
		text("long tokens", head+"Transaction = 9998 { Context = 17 { Modify = A4444 {} } }", context+"17"),
		text("short tokens", "!/1 <mg.example>\nT=9998{C=17{MF=A4444}}", context+"17"),
		text("any case and white space", "megaco/1 mg T=1 {\r\n\tcOnTeXt \t=\r\n 4294967293 {", context+"4294967293"),
		text("comments", "!/1 mg T=1{ ; C=5{\n C ; = 6 {\n = ;x\n 7{", context+"7"),
		text("reply", "!/1 mg P=9{C=2000{A=A4444}}", context+"2000"),
		text("reply at once", "!/1 mg P=9{IA,C=2000{A=A4444}}", context+"2000"),
		text("MTP address", "!/1 MTP{1A2B} T=1{C=3{}}", context+"3"),
		text("authentication", "AU=0x12345678:0x00000001:0x0123456789ABCDEF01234567\n!/1 mg T=1{C=3{}}", context+"3"),
		text("second context", "!/1 mg T=1{C=${A=$},C=5{A=$}}", context+"5"),
		text("second transaction", "!/1 mg T=1{C=-{AV=ROOT{}}}T=2{C=5{A=$}}", context+"5"),
		text("session description", head+"T=1{C=${A=${"+local+"}},C=5{A=$}}", context+"5"),
		text("session description alone", head+"T=1{C=${A=${"+local+"}}}", association1),
		text("package item named as a token", "!/1 mg T=1{C=*{MF=A{E=1{x/l{strict=exact}}}},C=4{}}", context+"4"),
		text("leading white space", "\r\n !/1 mg T=1{C=3{}}", context+"3"),
		text("null context", head+"Transaction = 1 { Context = - { ServiceChange = ROOT {} } }", association1),
		text("null context by number", "!/1 mg T=1{C=0{}}", association1),
		text("all contexts", "!/1 mg T=1{C=*{}}", association1),
		text("all contexts by number", "!/1 mg T=1{C=4294967295{}}", association1),
		text("chosen by number", "!/1 mg T=1{C=4294967294{}}", association1),
		text("pending", "!/1 mg PN=9{}", association1),
		text("acknowledgement", "!/1 mg K{9-11}", association1),
		text("error", "!/1 mg ER=500{\"bad { C=5{\"}", association1),
		text("no body", "MEGACO/1 mg", association1),
		{"BER", 7, megaco(tlv, request(tlv, []byte{17})), context + "17"},
		{"BER, indefinite lengths", 7, megaco(open, request(open, []byte{17})), context + "17"},
		{"BER, largest context", 7, megaco(tlv, request(tlv, unhex(tb, "00fffffffd"))), context + "4294967293"},
		{"BER, long", 7, megaco(tlv, request(tlv, []byte{0}), tlv(0xA3, tlv(0x30, many)), request(tlv, []byte{1, 0})), context + "256"},
		{"BER, choose, then one", 7, megaco(tlv, request(tlv, unhex(tb, "00fffffffe"), []byte{3})), context + "3"},
		{"BER, all", 7, megaco(tlv, request(tlv, unhex(tb, "00ffffffff"))), association1},
		{"BER, null", 7, megaco(tlv, request(tlv, []byte{0})), association1},
		{"BER, reply", 7, megaco(tlv, reply([]byte{5})), context + "5"},
		{"BER, reply with an error", 7, megaco(tlv, tlv(0xA2, tlv(0x80, []byte{9}), tlv(0xA2, tlv(0xA0, tlv(0x80, []byte{5}))))), association1},
		{"BER, pending", 7, megaco(tlv, tlv(0xA1, tlv(0x80, []byte{9}))), association1},
		{"BER, tag of two octets passed over", 7, tlv(0x30, []byte{0xBF, 0x81, 0x01, 0x00}), association1},
		{
			"BER, message with an error", 7,
			tlv(0x30, tlv(0xA1, tlv(0x80, []byte{1}), tlv(0xA1, tlv(0xA0)), tlv(0xA2, tlv(0xA0, tlv(0x80, []byte{5}))))), association1,
		},
	}
}

// TestH248Faults has messages that lie.
func TestH248Faults(t *testing.T) {
	ber := megaco(tlv, request(tlv, []byte{17}))

	for _, c := range []struct {
		fault   string
		payload []byte
	}{
		{"message: neither MEGACO text nor BER", nil},
		{"message: neither MEGACO text nor BER", []byte("INVITE sip:x SIP/2.0")},
		{"message: neither MEGACO text nor BER", []byte("!")},
		{"message: neither MEGACO text nor BER", []byte("MEGACO/")},
		{"braces: not in pairs", []byte("!/1 mg T=1{C=-{}")},
		{"braces: not in pairs", []byte("!/1 mg }")},
		{"braces: not in pairs", []byte("!/1 mg T=1{C=1")},
		{"quoted or octet string: no end", []byte("!/1 mg ER=500{\"x}")},
		{"quoted or octet string: no end", []byte("!/1 mg T=1{C=${A=${M{L{v=0")},
		{"context id: out of range", []byte("!/1 mg T=1{C=4294967296{}}")},
		{"context id: out of range", []byte("!/1 mg T=1{C=99999999999999999999999{}}")},
		{"context id: not an unsigned 32-bit integer", []byte("!/1 mg T=1{C={}}")},
		{"context id: not an unsigned 32-bit integer", []byte("!/1 mg T=1{C=1a{}}")},
		{"tag: cut short or unexpected", []byte{0x30, 0x01, 0xBF}},
		{"tag: cut short or unexpected", []byte{0x30, 0x03, 0xBF, 0xFF, 0xFF}},
		{"tag: cut short or unexpected", megaco(tlv, tlv(0xA0, tlv(0xA1, tlv(0x30, tlv(0x81, []byte{1})))))},
		{"tag: cut short or unexpected", megaco(tlv, tlv(0xA0, tlv(0xA1, tlv(0x30))))},
		{"length: past the end", []byte{0x30}},
		{"length: past the end", ber[:len(ber)-1]},
		{"length: past the end", []byte{0x30, 0x85, 0, 0, 0, 0, 0}},
		{"length: past the end", []byte{0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF}},
		{"length: past the end", []byte{0x30, 0x80, 0x00}},
		{"length: past the end", []byte{0x30, 0x80, 0x04, 0x80, 0x00, 0x00}},
		{"length: past the end", bytes.Repeat([]byte{0x30, 0x80}, 5000)},
		{"message: bytes after the end", append(slices.Clone(ber), 0)},
		{"context id: not an unsigned 32-bit integer", megaco(tlv, request(tlv, nil))},
		{"context id: not an unsigned 32-bit integer", megaco(tlv, request(tlv, []byte{0x80}))},
		{"context id: not an unsigned 32-bit integer", megaco(tlv, request(tlv, unhex(t, "0100000000")))},
		{"context id: not an unsigned 32-bit integer", megaco(tlv, request(tlv, unhex(t, "000000000001")))},
	} {
		wantFault(t, 7, c.payload, "h248: "+c.fault)
	}
}

func BenchmarkH248Text(b *testing.B) {
	benchmark(b, 7, []byte("MEGACO/1 [192.0.2.1]:2944\nTransaction = 9998 { Context = 17 { Modify = A4444 {} } }"))
}

func BenchmarkH248BER(b *testing.B) { benchmark(b, 7, megaco(tlv, request(tlv, []byte{17}))) }
