package protocol_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"skyring/protocol"
)

// roundedUp returns a message as it comes back: durations in whole milliseconds.
func roundedUp(m protocol.Message) protocol.Message { //nolint:ireturn // any message
	if c, is := m.(protocol.LogonConfirm); is && c.Heartbeat == 1 {
		c.Heartbeat, c.Inactivity = time.Millisecond, 2*time.Millisecond

		return c
	}

	return m
}

func TestEncodeDecode(t *testing.T) {
	seen := map[protocol.Type]bool{}

	for _, s := range samples() {
		h := header(s.m.Type())
		seen[h.Type] = true
		want := wire(h, unhex(t, s.elements))

		got, err := protocol.Append([]byte("head"), h, s.m)
		if err != nil || !bytes.Equal(got, append([]byte("head"), want...)) {
			t.Errorf("%v %+v is % x, %v\nwant % x", h.Type, s.m, got, err, want)
		}

		back, m, err := protocol.Decode(want)
		if err != nil || back != h || m != roundedUp(s.m) {
			t.Errorf("% x is %+v %+v, %v\nwant %+v %+v", want, back, m, err, h, s.m)
		}
	}

	for _, typ := range allTypes() {
		if !seen[typ] {
			t.Errorf("no sample of %v", typ)
		}
	}
}

// wantDecodeError checks what Decode says of bytes.
func wantDecodeError(t *testing.T, b []byte, want protocol.DecodeError) {
	t.Helper()

	_, m, err := protocol.Decode(b)

	var got *protocol.DecodeError
	if !errors.As(err, &got) || *got != want || m != nil {
		t.Errorf("% x: got %v, want %v", b, err, &want)
	}

	if !errors.Is(err, want.Problem) {
		t.Errorf("%v does not unwrap to %v", err, want.Problem)
	}
}

// element is one element on the wire.
type element struct {
	at   int // offset in the message
	wire []byte
}

// split cuts elements apart without the codec.
func split(b []byte) (all []element) {
	for at := 20; at < len(b); {
		n := 2 + int(b[at+1])
		all = append(all, element{at, b[at : at+n]})
		at += n
	}

	return all
}

// join is a message of other elements.
func join(h protocol.Header, all []element) []byte {
	var b []byte
	for _, e := range all {
		b = append(b, e.wire...)
	}

	return wire(h, b)
}

// TestEveryCutIsRefused cuts every message everywhere, with the length left and corrected.
func TestEveryCutIsRefused(t *testing.T) {
	for _, s := range samples() {
		h := header(s.m.Type())
		whole := wire(h, unhex(t, s.elements))

		for n := range whole {
			cut := append(make([]byte, 0, n), whole[:n]...)
			if _, _, err := protocol.Decode(cut); err == nil {
				t.Errorf("%v cut to %d of %d bytes decodes", h.Type, n, len(whole))
			}

			if n < 20 {
				continue
			}

			cut[4], cut[5] = byte(n>>8), byte(n)

			back, m, err := protocol.Decode(cut)
			if err == nil {
				again, _ := protocol.Append(nil, back, m)
				if !bytes.Equal(again, cut) {
					t.Errorf("%v cut to %d bytes with its length decodes to %+v", h.Type, n, m)
				}
			}
		}
	}
}

// TestElementsSpoiled spoils each element of each message in each way there is.
func TestElementsSpoiled(t *testing.T) {
	for _, s := range samples() {
		h := header(s.m.Type())
		all := split(wire(h, unhex(t, s.elements)))

		for i, e := range all {
			typ := protocol.Element(e.wire[0])
			with := func(middle ...element) []byte {
				return join(h, append(append(append([]element{}, all[:i]...), middle...), all[i+1:]...))
			}

			short := append([]byte{e.wire[0], e.wire[1] - 1}, e.wire[3:]...)
			long := append(append([]byte{e.wire[0], e.wire[1] + 1}, e.wire[2:]...), 0)

			wantDecodeError(t, with(e, e), protocol.DecodeError{Element: typ, Offset: e.at + len(e.wire), Problem: protocol.ErrDuplicate})
			wantDecodeError(t, with(element{wire: short}), protocol.DecodeError{Element: typ, Offset: e.at, Problem: protocol.ErrSize})
			wantDecodeError(t, with(element{wire: long}), protocol.DecodeError{Element: typ, Offset: e.at, Problem: protocol.ErrSize})
			wantDecodeError(t, with(element{wire: []byte{e.wire[0], 0}}), protocol.DecodeError{Element: typ, Offset: e.at, Problem: protocol.ErrSize})

			if i > 0 { // the one before it comes after it
				swapped := append([]element{}, all...)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]

				_, m, err := protocol.Decode(join(h, swapped))
				if err == nil || m != nil {
					t.Errorf("%v with %v before %v decodes", h.Type, typ, protocol.Element(all[i-1].wire[0]))
				}
			}
		}
	}
}

// TestElementsLeftOut: an element may be left out only when it is optional, and then reads as zero.
func TestElementsLeftOut(t *testing.T) {
	for _, s := range samples() {
		h := header(s.m.Type())
		all := split(wire(h, unhex(t, s.elements)))

		for i, e := range all {
			b := join(h, append(append([]element{}, all[:i]...), all[i+1:]...))

			_, m, err := protocol.Decode(b)
			if err != nil {
				wantDecodeError(t, b, protocol.DecodeError{Element: protocol.Element(e.wire[0]), Offset: e.at, Problem: protocol.ErrMissing})

				continue
			}

			again, err := protocol.Append(nil, h, m)
			if err != nil || !bytes.Equal(again, b) {
				t.Errorf("%v without %v: %+v is % x, %v", h.Type, protocol.Element(e.wire[0]), m, again, err)
			}
		}
	}
}

// TestUnknownElements puts elements that nobody knows at every place of every message.
func TestUnknownElements(t *testing.T) {
	for _, s := range samples() {
		h := header(s.m.Type())
		all := split(wire(h, unhex(t, s.elements)))

		with := func(i int, wire ...byte) []byte {
			return join(h, append(append(append([]element{}, all[:i]...), element{wire: wire}), all[i:]...))
		}

		i := 0
		for i < len(all) && all[i].wire[0] < 0x7E {
			i++
		}

		for _, wire := range [][]byte{{0x7E, 0}, {0x7E, 3, 1, 2, 3}, append([]byte{0x7E, 255}, make([]byte, 255)...)} {
			if _, m, err := protocol.Decode(with(i, wire...)); err != nil || m != roundedUp(s.m) {
				t.Errorf("%v with an unknown element: %+v, %v", h.Type, m, err)
			}
		}

		end := len(wire(h, unhex(t, s.elements)))
		at := end

		if i < len(all) {
			at = all[i].at
		}

		wantDecodeError(t, with(len(all), 0xFE, 1, 0), protocol.DecodeError{Element: 0xFE, Offset: end, Problem: protocol.ErrUnknown})
		wantDecodeError(t, with(i, 0x7E, 1, 0, 0x7E, 0), protocol.DecodeError{Element: 0x7E, Offset: at + 3, Problem: protocol.ErrDuplicate})
		wantDecodeError(t, with(i, 0x7E, 1, 0, 0x7D, 0), protocol.DecodeError{Element: 0x7D, Offset: at + 3, Problem: protocol.ErrOrder})
		wantDecodeError(t, with(0, 0, 0), protocol.DecodeError{Element: 0, Offset: 20, Problem: protocol.ErrOrder})
	}
}

// fill sets each field of a message at random, near its limits often.
func fill(r *rand.Rand, m protocol.Message) protocol.Message { //nolint:ireturn // any message
	v := reflect.New(reflect.TypeOf(m)).Elem()

	for _, f := range v.Fields() {
		bits := r.Uint64() >> (r.UintN(9) * 8)

		switch {
		case f.Type() == reflect.TypeFor[time.Duration]():
			f.SetInt(int64(bits%(1<<33)) * int64(time.Millisecond))
		case f.CanInt():
			f.SetInt(int64(bits))
		case f.CanUint():
			f.SetUint(bits & (1<<(8*f.Type().Size()) - 1))
		case f.Kind() == reflect.Bool:
			f.SetBool(bits&1 == 1)
		case f.Kind() == reflect.Array:
			for n := range f.Len() {
				f.Index(n).SetUint(r.Uint64() & 0xFF)
			}
		default:
			f.Set(reflect.ValueOf(protocol.Channel{Beam: protocol.Beam(bits >> 16), Number: uint16(bits)}))
		}
	}

	m, _ = reflect.TypeAssert[protocol.Message](v)

	return m
}

// TestRandomMessages: what Append writes, Decode reads; what it refuses, it says why.
func TestRandomMessages(t *testing.T) {
	const seed = 7

	r := rand.New(rand.NewPCG(seed, 0))
	written := map[protocol.Type]int{}

	for range 200 {
		for _, s := range samples() {
			m := fill(r, s.m)
			h := header(m.Type())

			b, err := protocol.Append(nil, h, m)
			if err != nil {
				var e *protocol.EncodeError
				if !errors.As(err, &e) || e.Type != h.Type || e.Problem != protocol.ErrRange && e.Problem != protocol.ErrZero {
					t.Fatalf("%+v: %v", m, err)
				}

				continue
			}

			written[h.Type]++

			back, got, err := protocol.Decode(b)
			if err != nil || back != h || got != m {
				t.Fatalf("%+v is % x, which is %+v, %v (seed %d)", m, b, got, err, seed)
			}
		}
	}

	for _, typ := range allTypes() {
		if written[typ] == 0 {
			t.Errorf("%v was never written", typ)
		}
	}
}

func TestDecodeKeepsNothing(t *testing.T) {
	h := header(protocol.TypeLogonAuth)
	b := wire(h, unhex(t, "81080000000000000002 8202ffff 8318"+nonceHex+"8420"+proofHex))

	_, m, err := protocol.Decode(b)
	if err != nil {
		t.Fatal(err)
	}

	clear(b)

	if want := (protocol.LogonAuth{BootNonce: 2, Beam: 65535, Nonce: nonce(), Proof: proof()}); m != want {
		t.Fatalf("%+v", m)
	}
}
