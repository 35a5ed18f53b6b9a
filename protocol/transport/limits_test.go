package transport_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

func TestBucket(t *testing.T) {
	at := func(n int, when time.Duration) []time.Duration { return slices.Repeat([]time.Duration{when}, n) }
	for _, c := range []struct {
		name    string
		moments []time.Duration
		want    int
	}{
		{"a second's worth at once", at(25, 0), 10},
		{"no more than a second's worth is saved", at(25, time.Hour), 10},
		{"filled again after a second", slices.Concat(at(25, 0), at(25, time.Second)), 20},
		{"one comes in a tenth", slices.Concat(at(25, 0), at(25, 100*time.Millisecond)), 11},
		{"none in less", slices.Concat(at(25, 0), at(25, 99*time.Millisecond)), 10},
	} {
		if got := transport.Bucket(10, c.moments...); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// initFrom hands the endpoint an INIT from an address, with a tag.
func initFrom(e *transport.Endpoint, from string, tag uint32) {
	b := packet.Header{SourcePort: 5, DestinationPort: 6}.Append(nil)
	b = packet.Init{InitiateTag: tag, Window: 1 << 16, OutboundStreams: 4, InboundStreams: 4}.Append(b, packet.TypeInit)
	packet.PutChecksum(b)
	transport.Handle(e, b, netip.MustParseAddrPort(from))
}

// Beyond the rates INITs are dropped without an answer, and one source does not use up what others may have.
func TestInitRates(t *testing.T) {
	cfg := steady()
	cfg.InitsPerSourcePerSecond, cfg.InitsPerSecond = 1, 3
	link := &hole{ended: make(chan struct{})}
	e, _ := startOn(t, link, cfg)
	count := func(c transport.Counter) uint64 { return e.Stats().Count(c) }
	for i := range uint32(100) {
		initFrom(e, "192.0.2.1:9899", 1+i)
	}
	if limited := count(transport.LimitedSourceInits); limited == 0 || limited+count(transport.PacketsSent) != 100 {
		t.Errorf("%d refused, %d answered", limited, count(transport.PacketsSent))
	}
	before := count(transport.PacketsSent)
	initFrom(e, "[2001:db8:0:1::1]:9899", 7)
	if count(transport.PacketsSent) != before+1 {
		t.Error("another source is not answered")
	}
	limited := count(transport.LimitedSourceInits)
	for i := range 100 { // a /64 is one source
		initFrom(e, netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 7: 2, 15: byte(i)}), 9899).String(), 7)
	}
	if count(transport.LimitedSourceInits) < limited+90 {
		t.Error("each address of an IPv6 network has a rate of its own")
	}
	for i := range 200 {
		initFrom(e, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), 9899).String(), 7)
	}
	if count(transport.LimitedInits) == 0 {
		t.Error("no limit in all")
	}
	if got := count(transport.PacketsSent) + count(transport.LimitedInits) + count(transport.LimitedSourceInits); got != 401 {
		t.Errorf("%d INITs counted of 401", got)
	}
}

// Refusals are answers too.
func TestRefusedInitsAreLimited(t *testing.T) {
	cfg := steady()
	cfg.Port, cfg.InitsPerSourcePerSecond = 2905, 1
	e, _ := startOn(t, &hole{ended: make(chan struct{})}, cfg)
	for range 100 {
		initFrom(e, "192.0.2.1:9899", 7)
	}
	if n := e.Stats().Count(transport.RefusedInits); n == 0 || n > 90 {
		t.Errorf("%d of 100 INITs answered with ABORT", n)
	}
}

func TestBlueRates(t *testing.T) {
	cfg := steady()
	cfg.BlueRepliesPerSecond = 1
	e, _ := startOn(t, &hole{ended: make(chan struct{})}, cfg)
	b := packet.Header{SourcePort: 5, DestinationPort: 6, VerificationTag: 77}.Append(nil)
	b = packet.AppendChunk(b, packet.TypeCookieAck, 0, nil)
	stray := packet.AppendChunk(packet.Header{SourcePort: 5, DestinationPort: 6, VerificationTag: 77}.Append(nil), packet.TypeSack, 0, make([]byte, 12))
	packet.PutChecksum(b)
	packet.PutChecksum(stray)
	for range 100 {
		transport.Handle(e, b, netip.MustParseAddrPort("192.0.2.1:9899")) // never answered: takes no part in the rate
	}
	for range 100 {
		transport.Handle(e, stray, netip.MustParseAddrPort("192.0.2.1:9899"))
	}
	s := e.Stats()
	if sent, limited := s.Count(transport.PacketsSent), s.Count(transport.LimitedBlue); sent == 0 || limited == 0 || sent+limited != 100 {
		t.Errorf("%d answered, %d not", sent, limited)
	}
}

// A source that has its number of associations is refused, at INIT and at COOKIE-ECHO; another is served, and so is the
// first when one of its associations has ended.
func TestAssociationsPerSource(t *testing.T) {
	cfg := steady()
	cfg.MaxAssociationsPerSource = 2
	server := start(t, cfg)
	stations := make([]*station, 4)
	for i := range stations {
		stations[i] = newStation(t, server)
		stations[i].tag = uint32(100 + i)
	}
	early := stations[2].cookie() // while there was room
	stations[0].connect()
	stations[1].connect()
	both := []*transport.Association{accept(t, server), accept(t, server)}
	wantNoResource := func(s *station) {
		t.Helper()
		h, c := s.expect(packet.TypeAbort)
		if h.VerificationTag != s.tag || binary.BigEndian.Uint16(c.Value) != 4 {
			t.Fatalf("tag %x, ABORT %x", h.VerificationTag, c.Value)
		}
	}
	stations[2].send(stations[2].serverTag, early)
	wantNoResource(stations[2])
	stations[3].send(0, stations[3].init(nil))
	wantNoResource(stations[3])
	if n := server.Stats().Count(transport.SourceRefusedAssociations); n != 2 {
		t.Errorf("%d refused", n)
	}
	elsewhere := newStationAt(t, server, netip.MustParseAddrPort("127.0.0.2:0"))
	elsewhere.connect()
	for _, a := range both {
		a.Abort("makes room")
	}
	stations[2].connect()
	stations[3].connect()
	stations[3].tag = 0x999 // a restart needs no more room
	stations[3].connect()
}

// Associations that we dial are not the peer's doing.
func TestDialledAssociationsAreNotTheSources(t *testing.T) {
	cfg := steady()
	cfg.MaxAssociationsPerSource = 1
	server, client := start(t, steady()), start(t, cfg)
	for range 3 {
		connect(t, client, server)
	}
	connect(t, server, client)
	if _, err := server.Dial(deadline(t), client.LocalAddr(), transport.Dial{RemotePort: 2905}); err == nil {
		t.Error("a second one is taken")
	}
}

// A message longer than configured is refused although the window holds it.
func TestMessageLongerThanConfigured(t *testing.T) {
	cfg := steady()
	cfg.MaxMessage = 4 << 10
	server, client := start(t, cfg), start(t, steady())
	dialled, accepted := connect(t, client, server)
	messages := collect(t, accepted)
	for _, size := range []int{4 << 10, 4<<10 + 1} {
		if err := dialled.Send(deadline(t), transport.Message{Payload: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	if m := next(t, messages); len(m.Payload) != 4<<10 {
		t.Errorf("a message of %d bytes", len(m.Payload))
	}
	wantReason(t, accepted, transport.ProtocolViolation)
	if detail := wantReason(t, dialled, transport.PeerAbort); detail != "out of resource (4); user initiated abort (12): message of 4097 bytes, at most 4096 may be" {
		t.Errorf("the peer hears %q", detail)
	}
	if n := server.Stats().Count(transport.OversizedMessages); n != 1 {
		t.Errorf("%d counted", n)
	}
}

// What waits for an association is bounded by number and by bytes.
func TestInbox(t *testing.T) {
	for _, c := range []struct {
		limit, maxBytes int
		sizes           []int
		want            int
	}{
		{3, 1000, []int{1, 1, 1, 1}, 3003},
		{10, 1000, []int{400, 400, 400, 100}, 3003},
		{10, 1000, []int{500, 500, 1}, 2002},
	} {
		if got := transport.Inbox(c.limit, c.maxBytes, c.sizes...); got != c.want {
			t.Errorf("limit %d, %d bytes, %v: %d, want %d", c.limit, c.maxBytes, c.sizes, got, c.want)
		}
	}
}

// A receiver that stands still shuts the window, and the sender's buffer fills: both count, and nobody is refused.
func TestFullWindowAndBufferCount(t *testing.T) {
	cfg := steady()
	cfg.SendBuffer, cfg.MaxMessage = 4<<10, 4<<10
	b := block(t, narrowWindow())
	client := start(t, cfg)
	dialled, err := client.Dial(deadline(t), b.e.LocalAddr(), transport.Dial{RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	accept(t, b.e)
	full, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		for {
			if err := dialled.Send(full, transport.Message{Payload: make([]byte, 1000)}); err != nil {
				ended <- err
				return
			}
		}
	}()
	eventually(t, "the window is shut", func() bool { return b.e.Stats().Count(transport.ShutWindows) == 1 })
	eventually(t, "the sender waits", func() bool { return client.Stats().Count(transport.SendWaits) > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Send: %v", err)
	}
	if b.e.Stats().Count(transport.QueueOverflows) != 0 || dialled.Err() != nil {
		t.Errorf("%d overflows, %v", b.e.Stats().Count(transport.QueueOverflows), dialled.Err())
	}
}

// Packets that come faster than pion takes them are dropped beyond the queue, and count; what is lost is sent again.
func TestPacketQueueOverflows(t *testing.T) {
	cfg := steady()
	cfg.PacketQueue = 16
	s, server, a, messages := pair(t, cfg)
	from := s.socket.LocalAddr().(*net.UDPAddr).AddrPort()
	flood := s.packet(s.serverTag, sackChunk(s.serverTSN-1))
	for n := 0; server.Stats().Count(transport.QueueOverflows) == 0; n++ {
		if n == 1<<20 {
			t.Fatal("pion is faster")
		}
		transport.Handle(server, flood, from)
	}
	d := s.data(whole(0, "lost, maybe"))
	for delivered := false; !delivered; {
		s.send(s.serverTag, d)
		select {
		case <-messages:
			delivered = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	if a.Err() != nil {
		t.Error(a.Err())
	}
}
