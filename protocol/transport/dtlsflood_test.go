package transport_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"skyring/protocol/transport"
)

// 100,000 ClientHellos, from as many addresses, leave no session and no goroutine behind, and a live association
// untouched. So do those that bring back cookies which are not theirs.
func TestDTLSHelloFlood(t *testing.T) {
	const flood = 100_000
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	dialled, accepted := connect(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	echoes(t, dialled, sent, received, accepted)
	stray := newHelloSender(t, server.LocalAddr())
	cookie := stray.cookie(1)
	goroutines := runtime.NumGoroutine()

	// The datagrams come to where the socket's reader would hand them: a flood through the kernel is lost for the most part
	// before. 127.0.0.0/8 answers nobody, and is not left.
	link2 := openReceiver(t, pskServer(file))
	from := func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(n >> 16), byte(n >> 8), byte(n)}), uint16(20_000+n%20_000))
	}
	start := time.Now()
	for n := range flood {
		transport.Receive(link2, hello(n, nil), from(n))
	}
	took := time.Since(start)
	for n := range flood / 10 {
		transport.Receive(link2, hello(n, cookie), from(n))
	}
	if link2.Sessions() != 0 {
		t.Errorf("%d sessions", link2.Sessions())
	}
	eventually(t, "no goroutine is left behind", func() bool { return runtime.NumGoroutine() <= goroutines })
	stats := statsOf(t, link2)
	if stats.Count(transport.HelloVerifies) != flood || stats.Count(transport.BadHelloCookies) != flood/10 ||
		stats.Count(transport.HandshakesStarted) != 0 {
		t.Errorf("%d answered, %d bad cookies", stats.Count(transport.HelloVerifies), stats.Count(transport.BadHelloCookies))
	}
	t.Logf("%s a ClientHello, answer included", took/flood)

	// And some through the socket of the server that serves somebody.
	for n := range flood / 10 {
		stray.send(hello(n, nil))
		if n%100 == 0 {
			echoes(t, dialled, sent, received, accepted)
		}
	}
	eventually(t, "the flood is through", func() bool { return server.Stats().Count(transport.HelloVerifies) > 100 })
	if link.Sessions() != 1 {
		t.Errorf("%d sessions", link.Sessions())
	}
	eventually(t, "no goroutine is left behind", func() bool { return runtime.NumGoroutine() <= goroutines })
	echoes(t, dialled, sent, received, accepted)
}

// openReceiver is a server's link that nobody runs.
func openReceiver(tb testing.TB, cfg transport.SecureConfig) *transport.DTLSLink {
	tb.Helper()
	link := listenDTLS(tb, cfg)
	tb.Cleanup(func() {
		if err := link.Close(); err != nil {
			tb.Error(err)
		}
	})
	return link
}

// statsOf reads the counters of a link that no endpoint runs.
func statsOf(tb testing.TB, link transport.Link) transport.Stats {
	tb.Helper()
	e, err := transport.New(link, steady(), logger(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return e.Stats()
}

// What somebody sends who knows the peers' addresses and connection ID, and no key, changes nothing at a session, neither
// during its handshake nor after. pion alone would tell the peer to end it.
func TestDTLSForgedRecords(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	dialled, accepted := connect(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	for range 2 { // while the peer may still repeat its last flight, and after
		for n, b := range forgedRecords(transport.CID(accepted)) {
			transport.Receive(link, b, client.LocalAddr())
			if err := accepted.Err(); err != nil {
				t.Fatalf("record %d %x ended the association: %v", n, b, err)
			}
		}
		echoes(t, dialled, sent, received, accepted)
		transport.Settle(accepted)
	}
	if link.Sessions() != 1 || server.Stats().Count(transport.BadRecords) == 0 {
		t.Errorf("%d sessions, %d bad records", link.Sessions(), server.Stats().Count(transport.BadRecords))
	}
}

// Once the peer cannot repeat its last flight any more, a handshake message in the clear, which pion would keep, is
// refused as well.
func TestDTLSSettledSession(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	_, accepted := connect(t, client, server)
	message := plainRecord(22, 7, append([]byte{20, 0, 0, 12, 0, 9, 0, 0, 0, 0, 0, 12}, make([]byte, 12)...))
	transport.Receive(link, message, client.LocalAddr())
	if n := server.Stats().Count(transport.BadRecords); n != 0 {
		t.Fatalf("%d bad records", n)
	}
	transport.Settle(accepted)
	transport.Receive(link, message, client.LocalAddr())
	if n := server.Stats().Count(transport.BadRecords); n != 1 {
		t.Errorf("%d bad records", n)
	}
}

func forgedRecords(cid []byte) (list [][]byte) {
	bodies := [][]byte{{}, {1}, {2, 40}, {2, 0}, {1, 0}, make([]byte, 12), make([]byte, 40), {2, 40, 21}, {9, 9, 23}}
	for kind := range 30 {
		for epoch := range uint64(3) {
			for n, body := range bodies {
				b := plainRecord(byte(kind), epoch<<48|uint64(1000+n), body)
				list = append(list, b)
				if kind == 25 {
					withCID := append(append(append([]byte(nil), b[:11]...), cid...), b[11:]...)
					list = append(list, withCID, withCID[:20])
				}
			}
		}
	}
	good := plainRecord(22, 7, append([]byte{20, 0, 0, 12, 0, 9, 0, 0, 0, 0, 0, 12}, make([]byte, 12)...))
	return append(list, good, append(append([]byte(nil), good...), plainRecord(23, 8, []byte("x"))...), good[:14], []byte{22}, []byte{25}, nil)
}

// The memory that a handshake takes of a stranger is bounded.
func TestDTLSHandshakeBudget(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	s := newHelloSender(t, server.LocalAddr())
	s.handshake(1)
	counts(t, server, transport.HandshakesStarted, 1)
	from := unmapped(t, s)
	big := plainRecord(22, 5, append([]byte{11, 0, 0x40, 0, 0, 9, 0, 0, 0, 0, 0x10, 0}, make([]byte, 0x1000)...))
	for n := range 100 {
		binary.BigEndian.PutUint16(big[17:], uint16(9+n))
		transport.Receive(link, big, from)
	}
	if n := server.Stats().Count(transport.SessionOverflows); n < 80 {
		t.Errorf("%d of 100 were refused", n)
	}
}

func unmapped(t *testing.T, s *helloSender) netip.AddrPort {
	t.Helper()
	addr, err := netip.ParseAddrPort(s.socket.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// ClientHellos that are damaged, cut short, or in fragments get no answer; those that differ in what the cookie is bound
// to get no session.
func TestDTLSBadHellos(t *testing.T) {
	link := openReceiver(t, pskServer(pskFile(t, "gw-7 17")))
	from := netip.MustParseAddrPort("127.0.0.1:9")
	good := hello(1, nil)
	bad := uint64(0)
	for n := 14; n < len(good); n++ {
		if n < len(good)-14 { // the extensions are pion's affair
			cut := append([]byte(nil), good[:n]...)
			transport.Receive(link, cut, from)
			bad++
		}
	}
	for _, at := range []int{1, 2, 14, 15, 16, 20, 21, 22, 24, 25, 26} { // versions and lengths
		broken := append([]byte(nil), good...)
		broken[at] ^= 0x55
		transport.Receive(link, broken, from)
		bad++
	}
	transport.Receive(link, append(append([]byte(nil), good...), good...), from)
	stats := statsOf(t, link)
	if n := stats.Count(transport.BadHellos); n != bad+1 || stats.Count(transport.HelloVerifies) != 0 {
		t.Errorf("%d of %d refused, %d answered", n, bad+1, stats.Count(transport.HelloVerifies))
	}
	numbered := append([]byte(nil), good...)
	numbered[18] = 3
	transport.Receive(link, numbered, from)
	if stats := statsOf(t, link); stats.Count(transport.BadHelloCookies) != 1 || link.Sessions() != 0 {
		t.Errorf("%d refused, %d sessions", stats.Count(transport.BadHelloCookies), link.Sessions())
	}
}

func TestDTLSHelloCookie(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	one, other := newHelloSender(t, server.LocalAddr()), newHelloSender(t, server.LocalAddr())
	cookie := one.cookie(1)
	for _, change := range []func() (*helloSender, []byte){
		func() (*helloSender, []byte) { return other, hello(1, cookie) },
		func() (*helloSender, []byte) { return one, hello(2, cookie) },
		func() (*helloSender, []byte) { b := hello(1, cookie); b[82] ^= 1; return one, b }, // a suite
		func() (*helloSender, []byte) { b := hello(1, cookie); b[70] ^= 1; return one, b }, // the cookie
		func() (*helloSender, []byte) { return one, hello(1, cookie[:19]) },
	} {
		s, b := change()
		s.send(b)
	}
	counts(t, server, transport.BadHelloCookies, 5)
	if link.Sessions() != 0 {
		t.Errorf("%d sessions", link.Sessions())
	}
	one.send(hello(1, cookie))
	counts(t, server, transport.HandshakesStarted, 1)
	one.send(hello(1, cookie)) // repeated: the same handshake
	one.cookie(3)
	if link.Sessions() != 1 || server.Stats().Count(transport.HandshakesStarted) != 1 {
		t.Errorf("%d sessions", link.Sessions())
	}
}

func TestDTLSHelloCookieAges(t *testing.T) {
	from := netip.MustParseAddrPort("127.0.0.1:9")
	for age, want := range map[time.Duration]bool{
		0: true, 59 * time.Second: true, 61 * time.Second: true, 119 * time.Second: true, 121 * time.Second: false, time.Hour: false,
	} {
		if got := transport.TurnHelloKeys(age, hello(1, nil), from); got != want {
			t.Errorf("%s old: %t", age, got)
		}
	}
}

// FuzzDTLSRecords: whatever comes before a handshake, in the middle of one, and on a session, nothing panics, and the
// session goes on.
func FuzzDTLSRecords(f *testing.F) {
	file := pskFile(f, "gw-7 17")
	server, link := serveDTLS(f, pskServer(file))
	client := clientDTLS(f, pskClient(file, "gw-7"))
	_, accepted := connect(f, client, server)
	opening := newHelloSender(f, server.LocalAddr())
	for _, b := range append(forgedRecords(transport.CID(accepted)), hello(1, nil), hello(1, make([]byte, 20)), hello(2, make([]byte, 255))) {
		f.Add(b)
	}
	number := rand.Int()
	f.Fuzz(func(t *testing.T, b []byte) {
		if link.Sessions() == 1 {
			opening.t = t
			opening.handshake(number)
			number++
		}
		at := netip.MustParseAddrPort(opening.socket.LocalAddr().String())
		for _, from := range []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9"), at, client.LocalAddr()} {
			transport.Receive(link, b, from)
		}
		if err := accepted.Err(); err != nil {
			t.Fatalf("the association ended: %v", err)
		}
	})
}

// HelloVerifyRequest and ServerHello take the record numbers of the ClientHellos that they answer (RFC 6347 section
// 4.2.1), so that a client whose first ones were lost does not take them for repetitions.
func TestDTLSRecordNumbers(t *testing.T) {
	server, _ := serveDTLS(t, pskServer(pskFile(t, "gw-7 17")))
	for n, first := range []byte{0, 4, 200} {
		s := newHelloSender(t, server.LocalAddr())
		b := hello(n, nil)
		b[10] = first
		s.send(b)
		verify := s.read()
		if verify[10] != first || verify[13] != 3 {
			t.Fatalf("HelloVerifyRequest %x", verify)
		}
		b = hello(n, verify[28:])
		b[10] = first + 1
		s.send(b)
		for number, flight := first+1, s.read(); len(flight) > 0; number++ {
			if flight[10] != number || flight[0] != 22 {
				t.Fatalf("record %d of the ServerHello is %x", number, flight)
			}
			flight = flight[13+int(flight[11])<<8+int(flight[12]):]
		}
	}
}
