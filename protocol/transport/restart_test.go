package transport_test

import (
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// A station that lost its state sets up again from the same ports (RFC 9260 section 5.2.4, action A).
func TestPeerRestarts(t *testing.T) {
	s, server, old, messages := pair(t, steady())
	s.send(s.serverTag, s.data(whole(1, "before")))
	next(t, messages)
	oldTag := s.serverTag
	s.tag, s.tsn, s.ssn = 0x3333, 77, nil
	echo := s.cookie()
	if old.Err() != nil {
		t.Fatalf("INIT alone ended it: %v", old.Err())
	}
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
	wantReason(t, old, transport.PeerRestarted)
	again := accept(t, server)
	messages = collect(t, again)
	s.stillServed(messages)
	s.send(oldTag, packet.AppendChunk(nil, packet.TypeAbort, 0, nil)) // of the old incarnation
	s.stillServed(messages)
	stats := server.Stats()
	if stats.Associations != 1 || stats.Count(transport.Restarts) != 1 {
		t.Errorf("%d associations, %d restarts", stats.Associations, stats.Count(transport.Restarts))
	}
}

// A cookie from before the restart, or without the tie to what exists now, changes nothing.
func TestRestartNeedsTheTie(t *testing.T) {
	server := start(t, steady())
	s := newStation(t, server)
	early := s.cookie() // nothing existed yet: no tie tags
	earlyTag := s.serverTag
	s.tag = 0x4444
	s.connect()
	a := accept(t, server)
	messages := collect(t, a)
	s.send(earlyTag, early)
	s.stillServed(messages)
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
	if n := server.Stats().Count(transport.MismatchedCookies); n != 1 {
		t.Errorf("%d mismatched cookies", n)
	}
}

// An endpoint that is killed and started again on its port, and dials the same ports.
func TestEndpointRestarts(t *testing.T) {
	server := start(t, steady())
	link := &mute{Link: listenUDP(t)}
	addr := link.LocalAddr()
	client, stop := startOn(t, link, steady())
	dial := transport.Dial{LocalPort: 4000, RemotePort: 2905}
	if _, err := client.Dial(deadline(t), server.LocalAddr(), dial); err != nil {
		t.Fatal(err)
	}
	old := accept(t, server)
	link.silent.Store(true) // as killed: no ABORT
	stop()
	fresh, err := transport.ListenUDP(addr)
	if err != nil {
		t.Skipf("the port went to someone else: %v", err)
	}
	client, _ = startOn(t, fresh, steady())
	dialled, err := client.Dial(deadline(t), server.LocalAddr(), dial)
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, old, transport.PeerRestarted)
	again := accept(t, server)
	echoes(t, dialled, collect(t, dialled), collect(t, again), again)
}

// questioned has a second station set up from the first one's address and SCTP ports, but another UDP port.
func questioned(t *testing.T) (first, second *station, server *transport.Endpoint, old *transport.Association) {
	t.Helper()
	cfg := idle()
	cfg.MaxMissedHeartbeats = 3
	first, server, old, _ = pair(t, cfg)
	second = newStation(t, server)
	second.tag = 0x5555
	second.connect()
	accept(t, server)
	return first, second, server, old
}

// Two stations behind one NAT may well have the same SCTP ports: the older one is asked whether it is there still, and
// stays when it is.
func TestTwoStationsBehindOneNAT(t *testing.T) {
	first, second, server, old := questioned(t)
	now := time.Now()
	transport.Beat(old, now)
	first.confirm()
	first.send(first.serverTag, first.data(whole(0, "after the answer")))
	first.expect(packet.TypeSack)
	for range 10 {
		now = now.Add(2 * time.Second)
		transport.Beat(old, now)
	}
	if old.Err() != nil || server.Stats().Associations != 2 || server.Stats().Count(transport.Restarts) != 0 {
		t.Errorf("%v, %d associations", old.Err(), server.Stats().Associations)
	}
	first.tag = 0x7777 // and the other way round, by a restart in place
	first.connect()
	again := accept(t, server)
	wantReason(t, old, transport.PeerRestarted)
	second.send(second.serverTag, second.data(whole(0, "still here")))
	second.expect(packet.TypeSack)
	if again.Err() != nil || server.Stats().Associations != 2 {
		t.Errorf("%d associations", server.Stats().Associations)
	}
}

// A station that restarts behind another UDP port leaves an association that answers no more: it ends soon, long before
// its heartbeats would find it, and it says why.
func TestRestartBehindAnotherPort(t *testing.T) {
	_, _, server, old := questioned(t)
	now := time.Now()
	for range 5 { // the first may fall before the endpoint's own beat
		transport.Beat(old, now)
		now = now.Add(1100 * time.Millisecond)
	}
	wantReason(t, old, transport.PeerRestarted)
	if s := server.Stats(); s.Associations != 1 || s.Count(transport.Restarts) != 1 {
		t.Errorf("%d associations, %d restarts", s.Associations, s.Count(transport.Restarts))
	}
}

// Where the NAT leads the question to the restarted station, that answers as one that knows nothing of it.
func TestRestartedStationDisowns(t *testing.T) {
	first, _, _, old := questioned(t)
	transport.Beat(old, time.Now())
	h, _ := first.expect(packet.TypeHeartbeat)
	first.send(h.VerificationTag, packet.AppendChunk(nil, packet.TypeAbort, 1, nil))
	wantReason(t, old, transport.PeerAbort)
}
