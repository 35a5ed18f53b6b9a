package transport_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

func TestDialNobody(t *testing.T) {
	client := start(t, quick())
	link := listenUDP(t)
	closed := link.LocalAddr()
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := client.Dial(deadline(t), closed, transport.Dial{RemotePort: 2905})
	if err == nil || !strings.Contains(err.Error(), "no answer to 4 INITs") || !strings.Contains(err.Error(), closed.String()) {
		t.Errorf("closed UDP port: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err = client.Dial(ctx, closed, transport.Dial{RemotePort: 2905}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("short deadline: %v", err)
	}
	for _, d := range []transport.Dial{{}, {RemotePort: 1, Streams: transport.MaxStreams + 1}} {
		if _, err := client.Dial(deadline(t), closed, d); err == nil {
			t.Errorf("%+v is dialled", d)
		}
	}
	if _, err := client.Dial(deadline(t), netip.AddrPort{}, transport.Dial{RemotePort: 1}); err == nil {
		t.Error("no address is dialled")
	}
}

func TestDialRefused(t *testing.T) {
	cfg := steady()
	cfg.Port = 38412
	server, client := start(t, cfg), start(t, steady())
	_, err := client.Dial(deadline(t), server.LocalAddr(), transport.Dial{RemotePort: 2905})
	if !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "nobody serves") {
		t.Errorf("other SCTP port: %v", err)
	}
	cfg.AcceptBacklog = 0
	dialOnly := start(t, cfg)
	if _, err := client.Dial(deadline(t), dialOnly.LocalAddr(), transport.Dial{RemotePort: 38412}); !errors.Is(err, transport.ErrRefused) {
		t.Errorf("dial only: %v", err)
	}
}

func TestDialPorts(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	to := server.LocalAddr()
	a, err := client.Dial(deadline(t), to, transport.Dial{LocalPort: 3000, RemotePort: 2905, Streams: 7})
	if err != nil {
		t.Fatal(err)
	}
	accepted := accept(t, server)
	if in, out := accepted.Streams(); in != 7 || out != 7 || a.LocalPort() != 3000 || accepted.PeerPort() != 3000 {
		t.Errorf("%d %d streams from port %d", in, out, accepted.PeerPort())
	}
	if _, err := client.Dial(deadline(t), to, transport.Dial{LocalPort: 3000, RemotePort: 2905}); err == nil ||
		!strings.Contains(err.Error(), "in use") {
		t.Errorf("same ports twice: %v", err)
	}
	if _, err := client.Dial(deadline(t), to, transport.Dial{LocalPort: 3000, RemotePort: 2906}); err != nil {
		t.Error(err)
	}
}

// What is lost on the way is sent again: INIT, INIT-ACK, COOKIE-ECHO, COOKIE-ACK.
func TestDialOverLoss(t *testing.T) {
	for lost := range 4 {
		server, client := start(t, steady()), start(t, quick())
		r := newRelay(t, server.LocalAddr())
		wanted := []packet.ChunkType{packet.TypeInit, packet.TypeInitAck, packet.TypeCookieEcho, packet.TypeCookieAck}[lost]
		losses := 0
		r.losing(func(b []byte) bool {
			if packet.ChunkType(b[packet.HeaderLen]) != wanted || losses == 2 {
				return false
			}
			losses++
			return true
		})
		if _, err := client.Dial(deadline(t), r.addr(), transport.Dial{RemotePort: 2905}); err != nil {
			t.Errorf("%s lost: %v", wanted, err)
		}
		if n := server.Stats().Associations; n != 1 {
			t.Errorf("%s lost: %d associations", wanted, n)
		}
	}
}

// fake is a server made by hand.
type fake struct{ *station }

func newFake(t *testing.T) *fake {
	t.Helper()
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return &fake{station: &station{t: t, socket: socket, buffer: make([]byte, 1<<16), port: 2905, tag: 0x2222, tsn: 500}}
}

// hear reads a packet and learns from INIT whom to answer.
func (f *fake) hear(want packet.ChunkType) packet.Chunk {
	f.t.Helper()
	_ = f.socket.SetReadDeadline(time.Now().Add(patience))
	for {
		n, from, err := f.socket.ReadFromUDPAddrPort(f.buffer)
		if err != nil {
			f.t.Fatal(err)
		}
		b := append([]byte(nil), f.buffer[:n]...)
		f.server = from
		h, _ := packet.ParseHeader(b)
		f.serverPort = h.SourcePort
		c, _, err := packet.ChunkAt(b, packet.HeaderLen)
		if err != nil {
			f.t.Fatal(err)
		}
		if i, err := packet.ParseInit(c); c.Type == packet.TypeInit && err == nil {
			f.serverTag, f.serverTSN = i.InitiateTag, i.InitialTSN
		}
		if c.Type == want {
			return c
		}
	}
}

func (f *fake) initAck(params []byte) []byte {
	return packet.Init{
		InitiateTag: f.tag, Window: 64 << 10, OutboundStreams: 3, InboundStreams: 5, InitialTSN: f.tsn, Parameters: params,
	}.Append(nil, packet.TypeInitAck)
}

func dialFake(t *testing.T, f *fake, serve func()) (*transport.Association, error) {
	t.Helper()
	client := start(t, quick())
	type result struct {
		a   *transport.Association
		err error
	}
	dialled := make(chan result, 1)
	go func() {
		a, err := client.Dial(context.Background(), f.socket.LocalAddr().(*net.UDPAddr).AddrPort(), transport.Dial{RemotePort: 2905})
		dialled <- result{a, err}
	}()
	serve()
	r := <-dialled
	return r.a, r.err
}

func TestDialByHand(t *testing.T) {
	f := newFake(t)
	cookie := packet.AppendParameter(nil, 7, []byte("any cookie at all"))
	a, err := dialFake(t, f, func() {
		f.hear(packet.TypeInit)
		params := packet.AppendParameter(cookie, 0xF111, []byte("tell me"))
		f.send(f.serverTag, f.initAck(params))
		if c := f.hear(packet.TypeCookieEcho); string(c.Value) != "any cookie at all" {
			t.Errorf("cookie %q", c.Value)
		}
		f.send(f.serverTag, packet.AppendChunk(nil, packet.TypeError, 0, packet.AppendParameter(nil, 3, be32(1)))) // stale
		f.hear(packet.TypeInit)
		f.send(f.serverTag+1, f.initAck(cookie)) // not for us
		f.send(f.serverTag, f.initAck(cookie))
		f.hear(packet.TypeCookieEcho)
		f.send(f.serverTag, packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil), f.data(whole(1, "at once")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if in, out := a.Streams(); in != 3 || out != 5 {
		t.Errorf("streams %d %d", in, out)
	}
	if m := next(t, collect(t, a)); string(m.Payload) != "at once" {
		t.Errorf("got %q", m.Payload)
	}
}

func TestDialFailures(t *testing.T) {
	cookie := packet.AppendParameter(nil, 7, []byte("cookie"))
	abort := packet.AppendChunk(nil, packet.TypeAbort, 0, packet.AppendParameter(nil, 12, []byte("closed on Sundays")))
	reflected := packet.AppendChunk(nil, packet.TypeAbort, 1, nil)
	stale := packet.AppendChunk(nil, packet.TypeError, 0, packet.AppendParameter(nil, 3, be32(1)))
	for _, c := range []struct {
		name  string
		serve func(f *fake)
		want  string
	}{
		{"ABORT to INIT", func(f *fake) {
			f.hear(packet.TypeInit)
			f.send(f.serverTag, abort)
		}, "closed on Sundays"},
		{"ABORT to COOKIE-ECHO, reflected", func(f *fake) {
			f.hear(packet.TypeInit)
			f.send(f.tag, reflected) // before its tag is known: ignored
			f.send(f.serverTag, f.initAck(cookie))
			f.hear(packet.TypeCookieEcho)
			f.send(f.tag, reflected)
		}, "ABORT"},
		{"no cookie", func(f *fake) {
			f.hear(packet.TypeInit)
			f.send(f.serverTag, f.initAck(nil))
			f.hear(packet.TypeAbort)
		}, "missing mandatory parameter"},
		{"cookies too old", func(f *fake) {
			for range 4 {
				f.hear(packet.TypeInit)
				f.send(f.serverTag, f.initAck(cookie))
				f.hear(packet.TypeCookieEcho)
				f.send(f.serverTag, stale)
			}
		}, "too old"},
		{"no COOKIE-ACK", func(f *fake) {
			f.hear(packet.TypeInit)
			f.send(f.serverTag, f.initAck(cookie))
			for range 4 {
				f.hear(packet.TypeCookieEcho)
			}
		}, "no answer to 4 COOKIE-ECHOs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			a, err := dialFake(t, f, func() { c.serve(f) })
			if err == nil {
				a.Abort("unexpected")
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A handshake that comes through when the last place has gone is ended on both sides.
func TestDialFindsNoRoom(t *testing.T) {
	cfg := quick()
	cfg.MaxAssociations = 1
	client := start(t, cfg)
	f := newFake(t)
	dialled := make(chan error, 1)
	go func() {
		_, err := client.Dial(context.Background(), f.socket.LocalAddr().(*net.UDPAddr).AddrPort(), transport.Dial{RemotePort: 2905})
		dialled <- err
	}()
	f.hear(packet.TypeInit)
	newStation(t, client).connect()
	f.send(f.serverTag, f.initAck(packet.AppendParameter(nil, 7, []byte("cookie"))))
	f.hear(packet.TypeCookieEcho)
	f.send(f.serverTag, packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil))
	f.hear(packet.TypeAbort)
	if err := <-dialled; err == nil || !strings.Contains(err.Error(), "the most that may be") {
		t.Errorf("Dial: %v", err)
	}
}

// Both sides dial each other: one association, returned by both (RFC 9260 section 5.2.1).
func TestBothSidesDial(t *testing.T) {
	for range 20 {
		one, two := start(t, steady()), start(t, steady())
		type result struct {
			a   *transport.Association
			err error
		}
		results := make(chan result, 1)
		go func() {
			a, err := one.Dial(context.Background(), two.LocalAddr(), transport.Dial{LocalPort: 5000, RemotePort: 5000})
			results <- result{a, err}
		}()
		b, err := two.Dial(deadline(t), one.LocalAddr(), transport.Dial{LocalPort: 5000, RemotePort: 5000})
		r := <-results
		if r.err != nil && err == nil { // one was through before the other began
			if !strings.Contains(r.err.Error(), "in use") {
				t.Fatal(r.err)
			}
			continue
		}
		if err != nil {
			if r.err != nil || !strings.Contains(err.Error(), "in use") {
				t.Fatal(err, r.err)
			}
			continue
		}
		a := r.a
		echoes(t, a, collect(t, a), collect(t, b), b)
		if n, m := one.Stats().Associations, two.Stats().Associations; n != 1 || m != 1 {
			t.Fatalf("%d and %d associations", n, m)
		}
		la, pa := transport.Tags(a)
		lb, pb := transport.Tags(b)
		if la != pb || pa != lb {
			t.Fatal("tags do not fit")
		}
	}
}

// Whoever dials from a port that another Dial is about to complete finds it in use, at any moment, and never an association with half of it.
func TestDialsFromOnePort(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	serveAccepts(t, server)
	for range 40 {
		results, dialled := make(chan error, 3), make(chan *transport.Association, 3)
		for range cap(results) {
			go func() {
				for {
					a, err := client.Dial(context.Background(), server.LocalAddr(), transport.Dial{LocalPort: 5000, RemotePort: 5000})
					if err == nil {
						dialled <- a
					}
					if err == nil || !strings.Contains(err.Error(), "in use") || len(dialled) > 0 {
						results <- err
						return
					}
				}
			}()
		}
		for range cap(results) {
			if err := <-results; err != nil && !strings.Contains(err.Error(), "in use") {
				t.Fatal(err)
			}
		}
		if len(dialled) != 1 {
			t.Fatalf("%d associations from one port", len(dialled))
		}
		a := <-dialled
		a.Abort("next")
		ended(t, a)
	}
}

// serveAccepts takes all associations of an endpoint and reads nothing.
func serveAccepts(t *testing.T, e *transport.Endpoint) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := e.Accept(ctx); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// A peer's cookie comes just before Dial begins, and takes effect just after it: Dial gets the association, instead of finding its place taken.
func TestDialBeginsWhileAPeerEnters(t *testing.T) {
	server := start(t, steady())
	s := newStation(t, server)
	cookie := s.cookie()
	at := s.socket.LocalAddr().(*net.UDPAddr).AddrPort()
	type result struct {
		a   *transport.Association
		err error
	}
	dialled := make(chan result, 1)
	go func() {
		a, err := server.Dial(deadline(t), at, transport.Dial{LocalPort: s.serverPort, RemotePort: s.port})
		dialled <- result{a, err}
	}()
	s.expect(packet.TypeInit) // the handshake is entered
	a, err := transport.InstallUnaware(server, cookie, at)
	if err != nil {
		t.Fatal(err)
	}
	if r := <-dialled; r.err != nil || a == nil || r.a != a {
		t.Fatalf("the cookie made %v, Dial got %v, %v", a, r.a, r.err)
	}
	if n := server.Stats().Associations; n != 1 {
		t.Errorf("%d associations", n)
	}
}

func TestDialGivenUpLeavesNothing(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if a, err := client.Dial(ctx, server.LocalAddr(), transport.Dial{RemotePort: 2905}); err == nil {
			a.Abort("done")
		}
		cancel()
	}
	eventually(t, "no association is left", func() bool {
		return client.Stats().Associations == 0
	})
}
