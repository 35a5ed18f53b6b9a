package transport_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/dtls/v3"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// The port changes, and the session with it, by its connection ID: no handshake, and SCTP sees nothing of it.
func TestDTLSPortChange(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, _ := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	r, dialled, accepted := connectByRelay(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	for range 5 {
		before := accepted.PeerAddr()
		r.rebind(t)
		echoes(t, dialled, sent, received, accepted)
		if accepted.PeerAddr() == before {
			t.Errorf("the peer is still at %s", before)
		}
	}
	stats := server.Stats()
	if stats.Count(transport.SessionsOpened) != 1 || stats.Count(transport.AddressChanges) < 5 || stats.Count(transport.Rebinds) != 0 {
		t.Errorf("%d sessions, %d changes of address, %d rebinds", stats.Count(transport.SessionsOpened),
			stats.Count(transport.AddressChanges), stats.Count(transport.Rebinds))
	}
	if accepted.Identity().Name != "gw-7" {
		t.Errorf("the peer is %s now", accepted.Identity())
	}
}

// The server has no port left at which it heard of the client; another client gets it. Both go on, each with its own
// identity.
func TestDTLSAddressGoesToAnother(t *testing.T) {
	file := pskFile(t, "gw-7 17", "gw-8 18")
	server, _ := serveDTLS(t, pskServer(file))
	first, second := clientDTLS(t, pskClient(file, "gw-7")), clientDTLS(t, pskClient(file, "gw-8"))
	r, dialled, accepted := connectByRelay(t, first, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	old := r.behind().LocalAddr().(*net.UDPAddr).AddrPort()
	r.rebind(t)
	echoes(t, dialled, sent, received, accepted)

	r2 := newRelay(t, server.LocalAddr())
	r2.rebindAt(t, old)
	dialled2, err := second.Dial(deadline(t), r2.addr(), transport.Dial{RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	accepted2 := accept(t, server)
	sent2, received2 := collect(t, dialled2), collect(t, accepted2)
	echoes(t, dialled2, sent2, received2, accepted2)
	echoes(t, dialled, sent, received, accepted)
	if accepted.Identity().Name != "gw-7" || accepted2.Identity().Name != "gw-8" || accepted2.PeerAddr() != old {
		t.Errorf("%s and %s at %s", accepted.Identity(), accepted2.Identity(), accepted2.PeerAddr())
	}
}

// A client that starts again at its old address replaces its session, and what hung on it, once it has proven itself;
// what it is now is what it has proven now.
func TestDTLSRestartAtTheSameAddress(t *testing.T) {
	file := pskFile(t, "gw-7 17", "gw-8 18")
	cfg := pskServer(file)
	cfg.HandshakeTimeout = 500 * time.Millisecond
	server, link := serveDTLS(t, cfg)
	first, crash := startOn(t, openDTLS(t, pskClient(file, "gw-7"), loopback()), steady())
	r, dialled, accepted := connectByRelay(t, first, server)
	sent, received := collect(t, dialled), collect(t, accepted)

	// What is not proven replaces nothing: a handshake at that address that gets no further.
	raw := &helloSender{t: t, socket: r.behind(), server: server.LocalAddr()}
	asked := make(chan []byte, 1)
	r.disturbing(func(b []byte) fate {
		if b[0] == 22 && b[13] == 3 {
			asked <- append([]byte(nil), b[28:]...)
			return lost
		}
		return onTime
	})
	raw.send(hello(1, nil))
	raw.send(hello(1, <-asked))
	counts(t, server, transport.HandshakesStarted, 2)
	echoes(t, dialled, sent, received, accepted)
	counts(t, server, transport.HandshakeTimeouts, 1)
	echoes(t, dialled, sent, received, accepted)
	if link.Sessions() != 1 {
		t.Fatalf("%d sessions", link.Sessions())
	}

	var anew atomic.Bool // what the old client says in the end is lost
	r.losing(func(b []byte) bool {
		if b[0] == 22 && b[13] == 1 {
			anew.Store(true)
		}
		return !anew.Load()
	})
	crash()
	again := clientDTLS(t, pskClient(file, "gw-8"))
	if _, err := again.Dial(deadline(t), r.addr(), transport.Dial{RemotePort: 2905}); err != nil {
		t.Fatal(err)
	}
	successor := accept(t, server)
	if detail := wantReason(t, accepted, transport.SessionEnded); !strings.Contains(detail, "began a new DTLS session") {
		t.Errorf("ended with %q", detail)
	}
	if accepted.Identity().Name != "gw-7" || successor.Identity().Name != "gw-8" {
		t.Errorf("%s was followed by %s", accepted.Identity(), successor.Identity())
	}
	counts(t, server, transport.ReplacedSessions, 1)
}

// The data of a client without connection IDs go on arriving while somebody begins a handshake at its address.
func TestDTLSDataDuringHandshake(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	r := newRelay(t, server.LocalAddr())
	conn, err := dtls.DialWithOptions("udp", net.UDPAddrFromAddrPort(r.addr()), stockClient()...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.HandshakeContext(deadline(t)); err != nil {
		t.Fatal(err)
	}
	counts(t, server, transport.SessionsOpened, 1)
	raw := &helloSender{t: t, socket: r.behind(), server: server.LocalAddr()}
	asked := make(chan []byte, 1)
	r.disturbing(func(b []byte) fate {
		if b[0] == 22 && b[13] == 3 {
			asked <- append([]byte(nil), b[28:]...)
			return lost
		}
		return onTime
	})
	raw.send(hello(1, nil))
	raw.send(hello(1, <-asked))
	eventually(t, "the handshake has begun", func() bool { return link.Sessions() == 2 })
	if _, err := conn.Write([]byte("no SCTP")); err != nil {
		t.Fatal(err)
	}
	counts(t, server, transport.MalformedPackets, 1)
}

func TestDTLSCookieIsOfOneSession(t *testing.T) {
	if !transport.CookieSentTo(1, 1) || transport.CookieSentTo(1, 2) || transport.CookieSentTo(0, 1) || transport.CookieSentTo(1, 0) {
		t.Error("a cookie is taken in a session that it was not made for")
	}
}

// Packets of one session under the tags of another's association are nobody's: a peer with an identity of its own cannot
// speak, or end anything, in another's place.
func TestDTLSIdentitiesDoNotMix(t *testing.T) {
	file := pskFile(t, "gw-7 17", "gw-8 18")
	plain := listenUDP(t)
	server, _ := startOver(t, []transport.Link{listenDTLS(t, pskServer(file)), plain}, steady())
	victim := clientDTLS(t, pskClient(file, "gw-7"))
	dialled, accepted := connect(t, victim, server)
	sent, received := collect(t, dialled), collect(t, accepted)

	other := openDTLS(t, pskClient(file, "gw-8"), loopback())
	attacker, _ := startOn(t, other, steady())
	mine, _ := connect(t, attacker, server)
	for _, forge := range forgeries(dialled, accepted) {
		if err := other.WritePacket(forge, transport.PeerOf(mine)); err != nil {
			t.Fatal(err)
		}
	}
	counts(t, server, transport.WrongAddresses, uint64(len(forgeries(dialled, accepted))))

	loose := newStationAt(t, server, loopback())
	loose.server = plain.LocalAddr()
	for _, forge := range forgeries(dialled, accepted) {
		loose.raw(forge)
	}
	counts(t, server, transport.WrongAddresses, 2*uint64(len(forgeries(dialled, accepted))))
	echoes(t, dialled, sent, received, accepted)
	if accepted.Identity().Name != "gw-7" {
		t.Errorf("the peer is %s now", accepted.Identity())
	}
}

// forgeries are packets that would end, change or feed an association, by somebody who knows its tags.
func forgeries(dialled, accepted *transport.Association) [][]byte {
	tag, _ := transport.Tags(accepted)
	var list [][]byte
	for _, chunk := range [][]byte{
		packet.AppendChunk(nil, packet.TypeAbort, 0, nil), packet.AppendChunk(nil, packet.TypeShutdown, 0, be32(1)),
		packet.AppendChunk(nil, packet.TypeHeartbeat, 0, []byte{0, 1, 0, 8, 1, 2, 3, 4}), whole(1, "forged").Append(nil),
	} {
		b := packet.Header{SourcePort: dialled.LocalPort(), DestinationPort: dialled.PeerPort(), VerificationTag: tag}.Append(nil)
		b = append(b, chunk...)
		packet.PutChecksum(b)
		list = append(list, b)
	}
	return list
}

// A cookie that was sealed for one session is none in another, nor on another link.
func TestDTLSCookieOfAnotherSession(t *testing.T) {
	file := pskFile(t, "gw-7 17", "gw-8 18")
	plain := listenUDP(t)
	server, _ := startOver(t, []transport.Link{plain, listenDTLS(t, pskServer(file))}, steady())
	loose := newStation(t, server)
	echo := loose.cookie()
	other := openDTLS(t, pskClient(file, "gw-8"), loopback())
	attacker, _ := startOn(t, other, steady())
	mine, err := attacker.Dial(deadline(t), server.LocalAddrs()[1], transport.Dial{RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	accept(t, server)
	if err := other.WritePacket(loose.packet(loose.serverTag, echo), transport.PeerOf(mine)); err != nil {
		t.Fatal(err)
	}
	counts(t, server, transport.BadCookies, 1)
	loose.send(loose.serverTag, echo)
	loose.expect(packet.TypeCookieAck)
	if a := accept(t, server); a.Identity().Proven() || a.Arrival() != (transport.Arrival{Mode: transport.ModeUDP, Address: plain.LocalAddr()}) {
		t.Errorf("%s by %v", a.Identity(), a.Arrival())
	}
}

const linksEach = 50

// dtlsClients gives a client's endpoint for each number, over a socket of its own and with an identity of its own.
func dtlsClients(tb testing.TB, file string, clients int) []*transport.Endpoint {
	tb.Helper()
	var list []*transport.Endpoint
	for len(list) < clients {
		var links []transport.Link
		for n := range linksEach {
			links = append(links, openDTLS(tb, pskClient(file, fmt.Sprintf("gw-%d", len(list)+n)), loopback()))
		}
		e, _ := startOver(tb, links, steady())
		for range linksEach {
			list = append(list, e)
		}
	}
	return list
}

func TestDTLSManyClients(t *testing.T) {
	const clients = 200
	var lines []string
	for n := range clients {
		lines = append(lines, fmt.Sprintf("gw-%d %d", n, n+1))
	}
	file := pskFile(t, lines...)
	cfg := pskServer(file)
	cfg.MaxHalfOpenPerSource = clients
	server, link := serveDTLS(t, cfg)
	before := runtime.NumGoroutine()
	var dialing sync.WaitGroup
	slots := make(chan struct{}, 16)
	patient, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // so many handshakes at once, on a busy machine
	defer cancel()
	for n, client := range dtlsClients(t, file, clients) {
		dialing.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			a, err := client.Dial(patient, server.LocalAddr(), transport.Dial{RemotePort: 2905, Link: n % linksEach})
			if err == nil {
				err = a.Send(patient, transport.Message{PPID: 3, Payload: []byte(strconv.Itoa(n))})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range clients {
		a, err := server.Accept(patient)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		ctx, cancel := context.WithCancel(context.Background())
		received := make(chan struct{})
		go func() {
			defer close(received)
			_ = a.Receive(ctx, func(m transport.Message) { got <- string(m.Payload) })
		}()
		select {
		case text := <-got:
			if want := a.Identity().Name; "gw-"+text != want {
				t.Errorf("%s said %s", want, text)
			}
		case <-patient.Done():
			t.Errorf("%s says nothing", a.Identity().Name)
		}
		cancel()
		<-received
	}
	dialing.Wait()
	if link.Sessions() != clients || server.Stats().Sessions != clients {
		t.Errorf("%d sessions", link.Sessions())
	}
	t.Logf("%d goroutines for %d clients and their server side", runtime.NumGoroutine()-before, clients)
}

// Two associations of one client share its session; it goes when nobody uses it any more.
func TestDTLSIdleSessionsEnd(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	_, one := connect(t, client, server)
	_, two := connect(t, client, server)
	if n := server.Stats().Count(transport.SessionsOpened); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	later := time.Now().Add(time.Hour)
	transport.Sweep(link, later)
	one.Abort("done")
	transport.Sweep(link, later)
	if two.Err() != nil || link.Sessions() != 1 {
		t.Fatalf("%v, %d sessions", two.Err(), link.Sessions())
	}
	two.Abort("done")
	transport.Sweep(link, time.Now())
	if link.Sessions() != 1 {
		t.Fatal("a session ended that was used a moment ago")
	}
	transport.Sweep(link, later)
	counts(t, server, transport.IdleSessions, 1)
	if link.Sessions() != 0 {
		t.Fatalf("%d sessions are left", link.Sessions())
	}
	eventually(t, "the client knows", func() bool { return client.Stats().Sessions == 0 })
	connect(t, client, server)
}

func TestDTLSSessionEndsWithItsCertificate(t *testing.T) {
	ca := newAuthority(t)
	server, link := serveDTLS(t, ca.secure(ca.issue("dispatcher")))
	soon := ca.issue("gw-7", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(10 * time.Minute) })
	_, accepted := connect(t, clientDTLS(t, ca.secure(soon)), server)
	transport.Sweep(link, time.Now().Add(9*time.Minute))
	if accepted.Err() != nil {
		t.Fatal(accepted.Err())
	}
	transport.Sweep(link, time.Now().Add(11*time.Minute))
	if detail := wantReason(t, accepted, transport.SessionEnded); !strings.Contains(detail, "expired on") {
		t.Errorf("ended with %q", detail)
	}
}

// When the server has lost the session, the client finds out by SCTP's heartbeats, gives the session up, and dials anew.
func TestDTLSClientDialsAnew(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	link := listenDTLS(t, pskServer(file))
	at := link.LocalAddr()
	server, stop := startOn(t, link, steady())
	client, _ := startOn(t, openDTLS(t, pskClient(file, "gw-7"), loopback()), restless())
	r, dialled, _ := connectByRelay(t, client, server)
	r.losing(func([]byte) bool { return true })
	stop()
	wantReason(t, dialled, transport.PathFailed)
	counts(t, client, transport.AbandonedSessions, 1)
	next, err := transport.ListenDTLS(at, pskServer(file), logger(t))
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, next, steady())
	r.losing(func([]byte) bool { return false })
	if _, err := client.Dial(deadline(t), r.addr(), transport.Dial{RemotePort: 2905}); err != nil {
		t.Fatal(err)
	}
}

// A server that ends tells its clients, whose associations end at once.
func TestDTLSServerEnds(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, stop := startOn(t, listenDTLS(t, pskServer(file)), steady())
	client := clientDTLS(t, pskClient(file, "gw-7"))
	dialled, accepted := connect(t, client, server)
	stop()
	wantReason(t, accepted, transport.EndpointClosed)
	if why := ended(t, dialled); why.Reason != transport.PeerAbort && why.Reason != transport.SessionEnded {
		t.Errorf("ended with %v", &why)
	}
	eventually(t, "no session is left", func() bool { return client.Stats().Sessions == 0 })
}

// 5 % of all datagrams are lost, both ways, handshake and all.
func TestDTLSThroughLoss(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, _ := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	r := newRelay(t, server.LocalAddr())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 0))
	r.losing(func([]byte) bool {
		mu.Lock()
		defer mu.Unlock()
		return chance.IntN(20) == 0
	})
	ctx, cancel := context.WithTimeout(context.Background(), 6*patience)
	defer cancel()
	dialled, err := client.Dial(ctx, r.addr(), transport.Dial{RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	received := collect(t, accept(t, server))
	const messages = 300
	go func() {
		for n := range messages {
			if err := dialled.Send(ctx, transport.Message{Stream: 1, PPID: 3, Payload: fmt.Appendf(nil, "%1000d", n)}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for n := range messages {
		if m := nextWithin(t, received, 6*patience); string(m.Payload) != fmt.Sprintf("%1000d", n) {
			t.Fatalf("message %d is %s", n, m.Payload)
		}
	}
}
