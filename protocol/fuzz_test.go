package protocol_test

import (
	"bytes"
	"slices"
	"testing"

	"skyring/protocol"
)

// elementsOf are the elements that each message may have, collected from the samples.
func elementsOf(tb testing.TB) map[protocol.Type][]byte {
	tb.Helper()

	of := map[protocol.Type][]byte{}

	for _, s := range samples() {
		typ := s.m.Type()
		for _, e := range split(wire(header(typ), unhex(tb, s.elements))) {
			if !slices.Contains(of[typ], e.wire[0]) {
				of[typ] = append(of[typ], e.wire[0])
			}
		}
	}

	return of
}

// FuzzDecode: what Decode takes, Append writes byte for byte, apart from elements that
// Decode may pass over; what it refuses, it names within the message.
func FuzzDecode(f *testing.F) {
	for _, folder := range []string{"valid", "invalid"} {
		for _, c := range corpus(f, folder) {
			f.Add(c.message)
		}
	}

	known := elementsOf(f)

	f.Fuzz(func(t *testing.T, b []byte) {
		before := slices.Clone(b)

		h, m, err := protocol.Decode(b)
		if !bytes.Equal(before, b) {
			t.Fatal("Decode changed what it read")
		}

		if err != nil {
			e, is := err.(*protocol.DecodeError) //nolint:errorlint // Decode promises this very type
			if !is || e.Offset < 0 || e.Offset > len(b) || e.Problem == protocol.ErrNone || !e.Problem.Cause().Known() || m != nil {
				t.Fatalf("%#v, %v", err, m)
			}

			if _, err := protocol.Append(nil, protocol.Header{Flags: protocol.Response}, e.Message()); err != nil {
				t.Fatalf("%v can not be told: %v", e, err)
			}

			return
		}

		peeked, err := protocol.PeekHeader(b)
		if err != nil || peeked != h || m.Type() != h.Type {
			t.Fatalf("%+v, peeked %+v, %v", h, peeked, err)
		}

		var kept []element

		for _, e := range split(b) {
			if slices.Contains(known[h.Type], e.wire[0]) {
				kept = append(kept, e)
			} else if e.wire[0]&0x80 != 0 {
				t.Fatalf("passed over element %#x", e.wire[0])
			}
		}

		again, err := protocol.Append(nil, h, m)
		if err != nil || !bytes.Equal(again, join(h, kept)) {
			t.Fatalf("% x\nis %+v %+v,\nwhich is % x, %v", b, h, m, again, err)
		}
	})
}

// FuzzElements does the same with headers that are right, so that mutation goes into the elements.
func FuzzElements(f *testing.F) {
	for _, s := range samples() {
		f.Add(byte(s.m.Type()), unhex(f, s.elements))
	}

	f.Fuzz(func(t *testing.T, typ byte, elements []byte) {
		if len(elements) > 65535-20 {
			return
		}

		h, m, err := protocol.Decode(wire(header(protocol.Type(typ)), elements))
		if err != nil {
			return
		}

		b, err := protocol.Append(nil, h, m)
		if err != nil {
			t.Fatalf("%+v %+v: %v", h, m, err)
		}

		again, same, err := protocol.Decode(b)
		if err != nil || again != h || same != m {
			t.Fatalf("% x: %+v %+v, %v", b, again, same, err)
		}
	})
}
