package transport_test

import (
	"net/netip"
	"reflect"
	"testing"

	"skyring/protocol/transport"
)

func intact(b []byte) []byte { return b }

func someCookie(peer string) transport.Cookie {
	return transport.Cookie{
		Created: 123_456_789, Peer: netip.MustParseAddrPort(peer), LocalPort: 1, PeerPort: 2,
		LocalTag: 3, PeerTag: 4, TieLocal: 5, TiePeer: 6, LocalTSN: 7, PeerTSN: 0xFFFFFFFF, Window: 9, In: 10, Out: 11,
		ForwardTSN: true, Named: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")},
	}
}

func TestCookieSurvives(t *testing.T) {
	for _, peer := range []string{"192.0.2.1:9899", "[2001:db8::1]:1"} {
		want := someCookie(peer)
		got, err := transport.SealAndOpen(want, intact)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestCookieForged(t *testing.T) {
	for i := range transport.CookieLen {
		flip := func(b []byte) []byte { b[i] ^= 1; return b }
		if _, err := transport.SealAndOpen(someCookie("192.0.2.1:9899"), flip); err == nil {
			t.Errorf("a flipped bit at %d goes unseen", i)
		}
	}
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return append(b, 0) },
		func([]byte) []byte { return nil },
	} {
		if _, err := transport.SealAndOpen(someCookie("192.0.2.1:9899"), damage); err == nil {
			t.Error("a cookie of another length is taken")
		}
	}
}

// The rows are table 12 of RFC 9260 section 5.2.4.
func TestCookieActions(t *testing.T) {
	existing := &[2]uint32{10, 20}
	for _, c := range []struct {
		name                        string
		local, peer, tieLocal, tieP uint32
		existing                    *[2]uint32
		want                        string
	}{
		{"nothing exists", 1, 2, 0, 0, nil, "fresh"},
		{"A: X X M M", 1, 2, 10, 20, existing, "restart"},
		{"B: M X A A", 10, 2, 0, 0, existing, "collision"},
		{"B: M 0 A A", 10, 2, 0, 0, &[2]uint32{10, 0}, "collision"},
		{"C: X M 0 0", 1, 20, 0, 0, existing, "discard"},
		{"D: M M A A", 10, 20, 7, 7, existing, "duplicate"},
		{"X X X X", 1, 2, 3, 4, existing, "discard"},
		{"X X 0 0", 1, 2, 0, 0, existing, "discard"},
		{"X X M X", 1, 2, 10, 4, existing, "discard"},
		{"X M M M", 1, 20, 10, 20, existing, "discard"},
	} {
		cookie := transport.Cookie{LocalTag: c.local, PeerTag: c.peer, TieLocal: c.tieLocal, TiePeer: c.tieP}
		if got := transport.JudgeCookie(cookie, c.existing); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
