package transport_test

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// homes are the sockets of a multi-homed station: one UDP port at several addresses.
func homes(tb testing.TB, server *transport.Endpoint, addrs ...string) []*station {
	tb.Helper()
	for range 20 {
		first := newStationAt(tb, server, netip.MustParseAddrPort(addrs[0]+":0"))
		port := first.socket.LocalAddr().(*net.UDPAddr).AddrPort().Port()
		list := []*station{first}
		for _, addr := range addrs[1:] {
			socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), port)))
			if err != nil {
				break // someone else has the port there
			}
			tb.Cleanup(func() { _ = socket.Close() })
			other := *first
			other.socket, other.buffer = socket, make([]byte, 1<<16)
			list = append(list, &other)
		}
		if len(list) == len(addrs) {
			return list
		}
	}
	tb.Fatal("no UDP port is free at all addresses")
	return nil
}

func addressParams(addrs ...string) (params []byte) {
	for _, addr := range addrs {
		raw := netip.MustParseAddr(addr).AsSlice()
		kind := uint16(5)
		if len(raw) == 16 {
			kind = 6
		}
		params = packet.AppendParameter(params, kind, raw)
	}
	return params
}

// begin does the first half of a handshake, with parameters, and gives the COOKIE-ECHO.
func (s *station) begin(params []byte) (echo []byte) {
	s.t.Helper()
	s.send(0, s.init(params))
	_, c := s.expect(packet.TypeInitAck)
	ack, err := packet.ParseInit(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.serverTag, s.serverTSN = ack.InitiateTag, ack.InitialTSN
	for p, err := range packet.Parameters(ack.Parameters) {
		if err == nil && p.Type == 7 {
			return packet.AppendChunk(nil, packet.TypeCookieEcho, 0, p.Value)
		}
	}
	s.t.Fatal("no cookie")
	return nil
}

// dualHomed connects a station that names its second address, and gives both sockets.
func dualHomed(t *testing.T, cfg transport.Config) (first, second *station, server *transport.Endpoint, a *transport.Association) {
	t.Helper()
	server = start(t, cfg)
	both := homes(t, server, "127.0.0.1", "127.0.0.2")
	first, second = both[0], both[1]
	echo := first.begin(addressParams("127.0.0.1", "127.0.0.2"))
	first.send(first.serverTag, echo)
	first.expect(packet.TypeCookieAck)
	second.serverTag, second.serverTSN = first.serverTag, first.serverTSN
	return first, second, server, accept(t, server)
}

// confirm answers the next heartbeat that comes to a socket.
func (s *station) confirm() {
	s.t.Helper()
	_, c := s.expect(packet.TypeHeartbeat)
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, c.Value))
}

// aliveUntil answers heartbeats until a chunk of the type comes.
func (s *station) aliveUntil(want packet.ChunkType) packet.Chunk {
	s.t.Helper()
	for limit := time.Now().Add(patience); time.Now().Before(limit); {
		_, chunks := s.read()
		for _, c := range chunks {
			if c.Type == want {
				return c
			}
			if c.Type == packet.TypeHeartbeat {
				s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, c.Value))
			}
		}
	}
	s.t.Fatalf("no %s came", want)
	return packet.Chunk{}
}

// idle has no heartbeats but those that a test asks for by Beat.
func idle() transport.Config {
	cfg := steady()
	cfg.HeartbeatInterval = time.Hour
	return cfg
}

// alert finds dead peers soon, but leaves a station on a busy machine time to answer: that counts until it is asked again.
func alert() transport.Config {
	cfg := restless()
	cfg.HeartbeatInterval = 500 * time.Millisecond
	return cfg
}

// A station that loses the address of its handshake goes on from the other that it named: its data is taken and
// acknowledged there at once, and ours follows when it stays unacknowledged.
func TestSecondAddressTakesOver(t *testing.T) {
	first, second, server, a := dualHomed(t, alert())
	messages := collect(t, a)
	second.confirm()
	eventually(t, "the second address is confirmed", func() bool { return len(a.PeerAddrs()) == 2 })
	_ = first.socket.Close()
	second.send(second.serverTag, second.data(whole(1, "from the other address")))
	if m := next(t, messages); string(m.Payload) != "from the other address" {
		t.Errorf("got %q", m.Payload)
	}
	_, sack := second.expect(packet.TypeSack)
	if got := sack.Value[:4]; !slices.Equal(got, be32(second.tsn-1)) {
		t.Errorf("SACK for %x", got)
	}
	if err := a.Send(deadline(t), transport.Message{PPID: 60, Payload: []byte("to the other address")}); err != nil {
		t.Fatal(err)
	}
	data := second.aliveUntil(packet.TypeData)
	if a.PeerAddr().Addr() != netip.MustParseAddr("127.0.0.2") {
		t.Errorf("peer at %s", a.PeerAddr())
	}
	if d, err := packet.ParseData(data); err != nil || string(d.Payload) != "to the other address" {
		t.Errorf("got %+v, %v", d, err)
	}
	if a.Err() != nil || server.Stats().Count(transport.PathsConfirmed) != 1 || server.Stats().Count(transport.PathChanges) != 1 ||
		server.Stats().Count(transport.PathFailures) != 0 {
		t.Errorf("ended with %v; counted %d", a.Err(), server.Stats().Count(transport.PathChanges))
	}
}

// DATA that comes twice tells that the SACK for it was lost on its way: the next goes to the other address.
func TestSackOfRepeatedData(t *testing.T) {
	first, second, _, a := dualHomed(t, idle())
	second.confirm()
	eventually(t, "the second address is confirmed", func() bool { return len(a.PeerAddrs()) == 2 })
	data := second.data(whole(0, "from where nothing is heard"))
	for _, hears := range []*station{second, first, first} {
		second.send(second.serverTag, data)
		if _, sack := hears.expect(packet.TypeSack); !slices.Equal(sack.Value[:4], be32(second.tsn-1)) {
			t.Errorf("SACK for %x", sack.Value[:4])
		}
	}
	second.send(second.serverTag, second.data(whole(0, "and something new")))
	second.expect(packet.TypeSack)
}

// An idle association changes its path too, by the heartbeats, and back when the other falls silent.
func TestIdleAssociationChangesItsPath(t *testing.T) {
	first, second, _, a := dualHomed(t, idle())
	second.confirm()
	eventually(t, "the second address is confirmed", func() bool { return len(a.PeerAddrs()) == 2 })
	now := time.Now()
	for i, here := range []*station{second, first, second} {
		now = now.Add(2 * time.Hour)
		transport.Beat(a, now) // heartbeats to both
		if here == first {
			second.expect(packet.TypeHeartbeat)
		} else {
			first.expect(packet.TypeHeartbeat)
		}
		before := a.PeerAddr()
		_, c := here.expect(packet.TypeHeartbeat)
		acked := here.tsn // any packet behind the answer shows that it was taken
		here.send(here.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, c.Value), here.data(whole(0, "x")))
		first.tsn, second.tsn = acked+1, acked+1
		here.ssn = nil
		here.expect(packet.TypeSack)
		transport.Beat(a, now.Add(900*time.Millisecond))
		if a.PeerAddr() != before {
			t.Fatalf("round %d: changed before the answer is late", i)
		}
		transport.Beat(a, now.Add(1100*time.Millisecond))
		if want := here.socket.LocalAddr().(*net.UDPAddr).AddrPort(); a.PeerAddr() != want {
			t.Fatalf("round %d: packets go to %s, want %s", i, a.PeerAddr(), want)
		}
	}
}

// When both addresses are silent, the peer is gone.
func TestAllAddressesSilent(t *testing.T) {
	_, second, server, a := dualHomed(t, alert())
	second.confirm()
	wantReason(t, a, transport.PathFailed)
	if n := server.Stats().Count(transport.PathsConfirmed); n != 1 {
		t.Errorf("%d paths confirmed", n)
	}
}

// An address that someone only names gets heartbeats, few of them, and nothing else: it may be a victim's.
func TestUnconfirmedAddress(t *testing.T) {
	cfg := restless()
	first, second, server, a := dualHomed(t, cfg)
	messages := collect(t, a)
	second.send(second.serverTag, second.data(whole(0, "from nowhere")), []byte{0xFE, 0, 0, 4}) // wants SACK and ERROR
	if m := next(t, messages); string(m.Payload) != "from nowhere" {
		t.Errorf("got %q", m.Payload)
	}
	first.expect(packet.TypeError)
	for range 4 * cfg.MaxMissedHeartbeats { // time passes
		first.confirm()
	}
	bad := server.Stats().Count(transport.BadHeartbeats) // an answer above may have been late
	guess := packet.AppendParameter(nil, 1, []byte("guessed!"))
	second.send(second.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, guess))
	eventually(t, "a wrong nonce counts", func() bool { return server.Stats().Count(transport.BadHeartbeats) > bad })
	second.send(0xABCD, packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil)) // its answer comes last
	heartbeats := 0
	for {
		_, chunks := second.read()
		if chunks[0].Type == packet.TypeShutdownComplete {
			break
		}
		if len(chunks) != 1 || chunks[0].Type != packet.TypeHeartbeat {
			t.Fatalf("an unconfirmed address is sent %v", chunks)
		}
		heartbeats++
	}
	// Its own packets had it asked anew once: they came with the tag.
	if heartbeats == 0 || heartbeats > 2*cfg.MaxMissedHeartbeats {
		t.Errorf("%d heartbeats", heartbeats)
	}
	if len(a.PeerAddrs()) != 1 || a.PeerAddr().Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("peer at %v", a.PeerAddrs())
	}
}

// The addresses that are kept are bounded, and so is the cookie.
func TestManyAddresses(t *testing.T) {
	server := start(t, idle())
	s := newStation(t, server)
	var many []string
	for i := range 60 {
		many = append(many, netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)}).String())
	}
	echo := s.begin(addressParams(many...))
	if n := len(echo) - packet.ChunkHeaderLen; n > transport.CookieMaxLen {
		t.Errorf("a cookie of %d bytes", n)
	}
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
	a := accept(t, server)
	transport.Beat(a, time.Now())
	counts(t, server, transport.PacketsSent, 2+8) // INIT-ACK, COOKIE-ACK, and a heartbeat to each
	transport.Beat(a, time.Now())
	if n := server.Stats().Count(transport.PacketsSent); n != 2+8 {
		t.Errorf("%d packets sent", n)
	}
}

func TestUsableAddresses(t *testing.T) {
	for _, c := range []struct{ from, bound, named, want string }{
		{"192.0.2.1", "0.0.0.0", "192.0.2.2", "192.0.2.2"},
		{"192.0.2.1", "0.0.0.0", "10.0.0.2", "10.0.0.2"},
		{"192.0.2.1", "0.0.0.0", "192.0.2.1", ""}, // the one it comes from
		{"192.0.2.1", "0.0.0.0", "127.0.0.1", ""}, // ours
		{"127.0.0.1", "0.0.0.0", "127.0.0.2", "127.0.0.2"},
		{"192.0.2.1", "0.0.0.0", "224.0.0.1", ""},
		{"192.0.2.1", "0.0.0.0", "255.255.255.255", ""},
		{"192.0.2.1", "0.0.0.0", "0.0.0.0", ""},
		{"192.0.2.1", "0.0.0.0", "169.254.1.1", ""},
		{"169.254.0.1", "0.0.0.0", "169.254.1.1", "169.254.1.1"},
		{"192.0.2.1", "0.0.0.0", "2001:db8::1", ""},
		{"192.0.2.1", "::", "2001:db8::1", "2001:db8::1"},
		{"2001:db8::2", "::", "192.0.2.1", "192.0.2.1"},
		{"2001:db8::2", "2001:db8::3", "192.0.2.1", ""},
		{"2001:db8::2", "::", "fe80::1", ""},
		{"2001:db8::2", "::", "ff02::1", ""},
		{"192.0.2.1", "0.0.0.0", "203.0.113.1", ""}, // not in the networks that the link hears
	} {
		got := transport.Usable(netip.MustParseAddr(c.bound), netip.MustParseAddr(c.from), netip.MustParseAddr(c.named))
		if got != (c.want != "") {
			t.Errorf("bound to %s, from %s: %s is taken: %t", c.bound, c.from, c.named, got)
		}
	}
}

// A peer that lost its state may set up again from any of its confirmed addresses.
func TestRestartFromAnotherAddress(t *testing.T) {
	_, second, server, old := dualHomed(t, idle())
	second.confirm()
	eventually(t, "the second address is confirmed", func() bool { return len(old.PeerAddrs()) == 2 })
	second.tag, second.tsn = 0x3333, 50
	echo := second.begin(addressParams("127.0.0.2", "127.0.0.1"))
	second.send(second.serverTag, echo)
	second.expect(packet.TypeCookieAck)
	wantReason(t, old, transport.PeerRestarted)
	again := accept(t, server)
	messages := collect(t, again)
	second.stillServed(messages)
	if n := server.Stats().Associations; n != 1 {
		t.Errorf("%d associations", n)
	}
}

// Naming a station's address in an INIT of one's own neither ends its association nor takes its address.
func TestNamedAddressIsNotTaken(t *testing.T) {
	server := start(t, idle())
	both := homes(t, server, "127.0.0.1", "127.0.0.2")
	victim, thief := both[0], both[1]
	victim.connect()
	a := accept(t, server)
	messages := collect(t, a)
	thief.tag = 0x6666
	echo := thief.begin(addressParams("127.0.0.1", "127.0.0.2"))
	thief.send(thief.serverTag, echo)
	thief.expect(packet.TypeCookieAck)
	stolen := accept(t, server)
	transport.Beat(stolen, time.Now())
	_, c := victim.expect(packet.TypeHeartbeat)
	victim.send(thief.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, c.Value)) // as a friend of the thief's
	victim.stillServed(messages)
	if len(stolen.PeerAddrs()) != 1 || a.Err() != nil || server.Stats().Count(transport.PathsConfirmed) != 0 {
		t.Errorf("%v, %v", stolen.PeerAddrs(), a.Err())
	}
}

// The UDP port of the second address may change as that of the first may.
func TestPortChangeOfTheSecondAddress(t *testing.T) {
	_, second, server, a := dualHomed(t, idle())
	second.confirm()
	eventually(t, "the second address is confirmed", func() bool { return len(a.PeerAddrs()) == 2 })
	moved := newStationAt(t, server, netip.MustParseAddrPort("127.0.0.2:0"))
	moved.serverTag = second.serverTag
	moved.send(moved.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, []byte("me"))))
	moved.confirm()
	want := moved.socket.LocalAddr().(*net.UDPAddr).AddrPort()
	eventually(t, "the new port is taken", func() bool { return slices.Contains(a.PeerAddrs(), want) && len(a.PeerAddrs()) == 2 })
	if n := server.Stats().Count(transport.Rebinds); n != 1 {
		t.Errorf("%d rebinds", n)
	}
}

// A server that we dial may name addresses too, in its INIT-ACK.
func TestDialledPeerNamesAddresses(t *testing.T) {
	f := newFake(t)
	a, err := dialFake(t, f, func() {
		f.hear(packet.TypeInit)
		f.send(f.serverTag, f.initAck(slices.Concat(packet.AppendParameter(nil, 7, []byte("cookie")), addressParams("127.0.0.9"))))
		f.hear(packet.TypeCookieEcho)
		f.send(f.serverTag, packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	if named := transport.Named(a); len(named) != 1 || named[0] != netip.MustParseAddr("127.0.0.9") {
		t.Errorf("named %v", named)
	}
}

// fakes are servers made by hand: one at 127.0.0.1, and the same one's sockets at other addresses, all at one UDP port.
func fakes(t *testing.T, addrs ...string) []*fake {
	t.Helper()
	for range 20 {
		list := []*fake{newFake(t)}
		for _, addr := range addrs {
			at := net.UDPAddr{IP: net.ParseIP(addr), Port: list[0].socket.LocalAddr().(*net.UDPAddr).Port}
			socket, err := net.ListenUDP("udp", &at)
			if err != nil {
				break // someone else has the port there
			}
			t.Cleanup(func() { _ = socket.Close() })
			other := *list[0].station
			other.socket, other.buffer = socket, make([]byte, 1<<16)
			list = append(list, &fake{station: &other})
		}
		if len(list) == 1+len(addrs) {
			return list
		}
	}
	t.Fatal("no UDP port is free at all addresses")
	return nil
}

// A server with several addresses may answer from another than we dialled, as usrsctp does over IP: its INIT-ACK is taken when
// it names the dialled one, and what comes behind from an address that it named. Nothing else is.
func TestDialledPeerAnswersFromAnotherAddress(t *testing.T) {
	all := fakes(t, "127.0.0.9", "127.0.0.10")
	f, second, stranger := all[0], all[1], all[2]
	cookie := packet.AppendParameter(nil, 7, []byte("cookie"))
	forged := packet.AppendParameter(nil, 7, []byte("forged"))
	cookieAck := packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil)
	a, err := dialFake(t, f, func() {
		f.hear(packet.TypeInit)
		for _, o := range []*fake{second, stranger} {
			o.server, o.serverPort, o.serverTag = f.server, f.serverPort, f.serverTag
		}
		stranger.send(f.serverTag, f.initAck(slices.Concat(forged, addressParams("127.0.0.10")))) // not of whom we dialled
		second.send(f.serverTag, f.initAck(slices.Concat(cookie, addressParams("127.0.0.1", "127.0.0.9"))))
		if c := f.hear(packet.TypeCookieEcho); string(c.Value) != "cookie" {
			t.Errorf("cookie %q", c.Value)
		}
		stranger.send(f.serverTag, packet.AppendChunk(nil, packet.TypeAbort, 0, nil))
		second.send(f.serverTag, cookieAck, f.data(whole(1, "from there")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if named := transport.Named(a); !slices.Equal(named, []netip.Addr{netip.MustParseAddr("127.0.0.9")}) {
		t.Errorf("named %v", named)
	}
	if m := next(t, collect(t, a)); string(m.Payload) != "from there" {
		t.Errorf("got %q", m.Payload)
	}
	if at := a.PeerAddr(); at.Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("before it has answered a heartbeat, packets go to %s", at)
	}
}
