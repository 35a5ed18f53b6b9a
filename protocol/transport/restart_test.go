package transport_test

import (
	"testing"

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
