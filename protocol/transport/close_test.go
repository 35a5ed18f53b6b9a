package transport_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// A shutdown from either side delivers first what was sent.
func TestShutdown(t *testing.T) {
	for _, fromClient := range []bool{true, false} {
		server, client := start(t, steady()), start(t, steady())
		dialled, accepted := connect(t, client, server)
		from, to := accepted, dialled
		if fromClient {
			from, to = dialled, accepted
		}
		for range 100 {
			m := transport.Message{PPID: 60, Payload: make([]byte, 3000)}
			if err := from.Send(deadline(t), m); err != nil {
				t.Fatal(err)
			}
		}
		messages := collect(t, to)
		if err := from.Close(deadline(t)); err != nil {
			t.Fatal(err)
		}
		wantReason(t, from, transport.LocalShutdown)
		wantReason(t, to, transport.PeerShutdown)
		for range 100 {
			next(t, messages)
		}
		if _, more := <-messages; more {
			t.Error("more than was sent")
		}
		if err := from.Close(deadline(t)); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if err := to.Close(deadline(t)); err != nil {
			t.Errorf("Close after the peer's: %v", err)
		}
		if n, m := client.Stats().Associations, server.Stats().Associations; n != 0 || m != 0 {
			t.Errorf("%d and %d associations left", n, m)
		}
	}
}

func TestBothClose(t *testing.T) {
	for range 10 {
		server, client := start(t, steady()), start(t, steady())
		dialled, accepted := connect(t, client, server)
		closed := make(chan error, 1)
		go func() { closed <- dialled.Close(context.Background()) }()
		if err := accepted.Close(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		ended(t, dialled)
		ended(t, accepted)
	}
}

func TestAbortReason(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	messages := collect(t, accepted)
	dialled.Abort("station \x00decommissioned")
	if detail := wantReason(t, dialled, transport.LocalAbort); detail != "station \x00decommissioned" {
		t.Errorf("detail %q", detail)
	}
	detail := wantReason(t, accepted, transport.PeerAbort)
	if detail != "user initiated abort (12): station .decommissioned" {
		t.Errorf("detail %q", detail)
	}
	if _, more := <-messages; more {
		t.Error("a message came of it")
	}
	if !errors.Is(accepted.Err(), transport.ErrClosed) || !strings.Contains(accepted.Err().Error(), "peer abort") {
		t.Errorf("%v", accepted.Err())
	}
}

func TestAbortCauses(t *testing.T) {
	for _, c := range []struct {
		value []byte
		want  string
	}{
		{nil, ""},
		{packet.AppendParameter(nil, 4, nil), "out of resource (4)"},
		{packet.AppendParameter(nil, 13, []byte("odd")), "protocol violation (13): odd"},
		{packet.AppendParameter(nil, 999, []byte("odd")), "cause 999 (999)"},
		{packet.AppendParameter(packet.AppendParameter(nil, 9, be32(1)), 1, be32(1)), "no user data (9); invalid stream identifier (1)"},
		{[]byte{0, 12, 0, 99}, "malformed cause"},
	} {
		s, _, a, _ := pair(t, steady())
		s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeAbort, 0, c.value))
		if detail := wantReason(t, a, transport.PeerAbort); detail != c.want {
			t.Errorf("detail %q, want %q", detail, c.want)
		}
	}
}

func TestPeerForgot(t *testing.T) {
	s, _, a, _ := pair(t, steady())
	s.send(s.tag, packet.AppendChunk(nil, packet.TypeAbort, 1, nil)) // T bit: the tag that we send
	if detail := wantReason(t, a, transport.PeerAbort); !strings.Contains(detail, "does not know") {
		t.Errorf("detail %q", detail)
	}
}

// The SHUTDOWN-COMPLETE is lost: a late SHUTDOWN-ACK gets another, with the T bit, and that ends it.
func TestShutdownCompleteLost(t *testing.T) {
	s, _, a, _ := pair(t, steady())
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeShutdown, 0, be32(s.serverTSN-1)))
	s.expect(packet.TypeShutdownAck)
	if err := a.Send(deadline(t), transport.Message{Payload: []byte("too late")}); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Send while the peer closes: %v", err)
	}
	s.send(s.tag, packet.AppendChunk(nil, packet.TypeShutdownComplete, 1, nil))
	wantReason(t, a, transport.PeerShutdown)
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil))
	h, c := s.expect(packet.TypeShutdownComplete)
	if c.Flags != 1 || h.VerificationTag != s.serverTag {
		t.Errorf("flags %d, tag %x", c.Flags, h.VerificationTag)
	}
}

// A peer that has forgotten a shutdown that waits for its end is reminded of it before it may come back (RFC 9260
// sections 9.2 and 5.2.4, action A).
func TestRestartInShutdown(t *testing.T) {
	s, server, a, _ := pair(t, steady())
	oldTag, oldServerTag, oldServerTSN := s.tag, s.serverTag, s.serverTSN
	s.tag = 0x5555
	echo := s.cookie()
	newServerTag := s.serverTag
	s.send(oldServerTag, packet.AppendChunk(nil, packet.TypeShutdown, 0, be32(oldServerTSN-1)))
	s.expect(packet.TypeShutdownAck)
	s.send(0, s.init(nil))
	if h, chunks := s.read(); chunks[0].Type != packet.TypeShutdownAck || h.VerificationTag != oldTag {
		t.Errorf("INIT is answered with %s, tag %x", chunks[0].Type, h.VerificationTag)
	}
	s.send(newServerTag, echo)
	h, chunks := s.read()
	if len(chunks) != 2 || chunks[0].Type != packet.TypeShutdownAck || chunks[1].Type != packet.TypeError || h.VerificationTag != oldTag {
		t.Fatalf("COOKIE-ECHO is answered with %v, tag %x", chunks, h.VerificationTag)
	}
	if cause := binary.BigEndian.Uint16(chunks[1].Value); cause != 10 {
		t.Errorf("cause %d", cause)
	}
	if a.Err() != nil {
		t.Fatalf("ended: %v", a.Err())
	}
	s.send(oldTag, packet.AppendChunk(nil, packet.TypeShutdownComplete, 1, nil)) // as to a packet out of the blue
	wantReason(t, a, transport.PeerShutdown)
	s.send(newServerTag, echo)
	s.expect(packet.TypeCookieAck)
	accept(t, server)
}

// Before our shutdown has got that far, a peer that restarts just does.
func TestRestartBeforeShutdownAck(t *testing.T) {
	s, server, a, _ := pair(t, steady())
	s.tag = 0x5555
	echo := s.cookie()
	closed := make(chan error, 1)
	go func() { closed <- a.Close(context.Background()) }()
	s.expect(packet.TypeShutdown)
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
	wantReason(t, a, transport.PeerRestarted)
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	accept(t, server)
}

// SHUTDOWN-COMPLETE means something only after SHUTDOWN-ACK (RFC 9260 section 8.5.1, C).
func TestShutdownCompleteTooEarly(t *testing.T) {
	s, _, a, _ := pair(t, steady())
	complete := packet.AppendChunk(nil, packet.TypeShutdownComplete, 1, nil)
	s.send(s.tag, complete)
	closed := make(chan error, 1)
	go func() { closed <- a.Close(context.Background()) }()
	s.expect(packet.TypeShutdown)
	s.send(s.tag, complete)
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil))
	if _, c := s.expect(packet.TypeShutdownComplete); c.Flags != 0 {
		t.Error("the association had ended before its SHUTDOWN-ACK came")
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Run's end finds associations that nobody accepted, and handshakes of both sides under way.
func TestRunEndsDuringHandshakes(t *testing.T) {
	e, stop := startOn(t, listenUDP(t), steady())
	waiting := newStation(t, e)
	waiting.connect()
	waiting.send(waiting.serverTag, waiting.data(whole(0, "nobody reads this")))
	waiting.expect(packet.TypeSack)
	half := newStation(t, e)
	echo := half.cookie()
	peer := newStation(t, e)
	dialled := make(chan error, 1)
	go func() {
		_, err := e.Dial(context.Background(), peer.socket.LocalAddr().(*net.UDPAddr).AddrPort(), transport.Dial{RemotePort: 2905})
		dialled <- err
	}()
	peer.expect(packet.TypeInit)
	stop()
	waiting.expect(packet.TypeAbort)
	if err := <-dialled; err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("Dial: %v", err)
	}
	half.send(half.serverTag, echo)
	if n := e.Stats().Associations; n != 0 {
		t.Errorf("%d associations left", n)
	}
}

func TestCloseTakesTooLong(t *testing.T) {
	s, _, a, _ := pair(t, steady())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	wantReason(t, a, transport.LocalAbort)
	s.expect(packet.TypeAbort)
}

func TestEndpointEnds(t *testing.T) {
	server, stop := startOn(t, listenUDP(t), steady())
	client := start(t, steady())
	dialled, accepted := connect(t, client, server)
	stop()
	wantReason(t, accepted, transport.EndpointClosed)
	if detail := wantReason(t, dialled, transport.PeerAbort); !strings.Contains(detail, "endpoint closed") {
		t.Errorf("detail %q", detail)
	}
	if _, err := server.Accept(deadline(t)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if _, err := server.Dial(deadline(t), client.LocalAddr(), transport.Dial{RemotePort: 1}); err == nil {
		t.Error("an ended endpoint dials")
	}
}

func TestEndpointShutdown(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	var peers []*transport.Association
	for range 20 {
		dialled, _ := connect(t, client, server)
		peers = append(peers, dialled)
	}
	if err := server.Shutdown(deadline(t)); err != nil {
		t.Fatal(err)
	}
	for _, a := range peers {
		wantReason(t, a, transport.PeerShutdown)
	}
	if _, err := client.Dial(deadline(t), server.LocalAddr(), transport.Dial{RemotePort: 1}); !errors.Is(err, transport.ErrRefused) {
		t.Errorf("Dial after Shutdown: %v", err)
	}
}

func TestCloseErrors(t *testing.T) {
	for r := transport.PeerShutdown; r <= transport.SessionEnded; r++ {
		if strings.Contains(r.String(), "close reason") {
			t.Errorf("reason %d has no name", r)
		}
	}
	if got := (&transport.CloseError{Reason: transport.PathFailed}).Error(); got != "association closed: path failed" {
		t.Error(got)
	}
	names := map[string]bool{}
	for c := range (transport.Stats{}).All() {
		names[c.String()] = true
	}
	if len(names) != int(transport.AbandonedSessions)+1 || names["unknown"] || names[""] {
		t.Errorf("%d names", len(names))
	}
}
