package interop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
	"skyring/testbed/interop"
)

// TestPeerShutsDown ends gracefully from the peer's side, after all that it sent.
func TestPeerShutsDown(t *testing.T) {
	bothSides(t, func(on trial) {
		t, who := on.T, on.who
		m := meet(t, who, setting{})
		messages := collect(t, m.ours)
		b := batch{count: 200, streams: 4, size: 1000, ppid: 60}
		m.toUs(t, messages, b)
		m.peer.tell("shutdown")
		if why := ended(t, m.ours); why.Reason != transport.PeerShutdown {
			t.Errorf("ended with %v", &why)
		}
		if e := m.peer.expect("closed"); e.Word(1) != "shutdown" {
			t.Errorf("the peer says %s", e)
		}
	})
}

// TestWeShutDown ends gracefully from ours: the peer has all that was sent before.
func TestWeShutDown(t *testing.T) {
	bothSides(t, func(on trial) {
		t, who := on.T, on.who
		m := meet(t, who, setting{})
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		const n = 200
		for i := range n {
			if err := m.ours.Send(ctx, transport.Message{Stream: uint16(i % 4), PPID: 60, Payload: make([]byte, 1000)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.ours.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if why := ended(t, m.ours); why.Reason != transport.LocalShutdown {
			t.Errorf("ended with %v", &why)
		}
		for range n {
			m.peer.expect("message")
		}
		if e := m.peer.expect("closed"); e.Word(1) != "shutdown" {
			t.Errorf("the peer says %s", e)
		}
	})
}

// TestPeerAborts ends at once, and its cause is told.
func TestPeerAborts(t *testing.T) {
	bothSides(t, func(on trial) {
		t, who := on.T, on.who
		m := meet(t, who, setting{})
		m.peer.tell("abort")
		why := ended(t, m.ours)
		if why.Reason != transport.PeerAbort || why.Detail != "user initiated abort (12): peer aborts" {
			t.Errorf("ended with %v", &why)
		}
	})
}

// TestWeAbort ends at once, and the peer gets the cause.
func TestWeAbort(t *testing.T) {
	bothSides(t, func(on trial) {
		t, who := on.T, on.who
		m := meet(t, who, setting{})
		m.ours.Abort("station off")
		if e := m.peer.expect("closed"); strings.Join(e.Words[1:], " ") != "aborted 12 station_off" {
			t.Errorf("the peer says %s", e)
		}
	})
}

// TestPeerClientIsKilledAndComesBack has a peer restart on its old ports: the old association ends, the new one works.
func TestPeerClientIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	m := meet(t, peerDials, setting{peer: func(o *interop.Options) { o.Port = 4000 }})
	old := m.ours
	m.peer.Kill()
	m.begin(t, peerDials)
	if why := ended(t, old); why.Reason != transport.PeerRestarted {
		t.Errorf("ended with %v", &why)
	}
	if old == m.ours || old.PeerAddr() != m.ours.PeerAddr() {
		t.Errorf("not the same ports: %s, %s", old.PeerAddr(), m.ours.PeerAddr())
	}
	m.toUs(t, collect(t, m.ours), batch{count: 50, streams: 4, size: 100, ppid: 60})
	if got := m.endpoint.Stats().Count(transport.Restarts); got != 1 {
		t.Errorf("%d restarts counted", got)
	}
}

// TestPeerServerIsKilledAndComesBack has a server forget the association: we hear of it when we speak, and can dial again,
// from the same ports.
func TestPeerServerIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	m := meet(t, weDial, setting{})
	old := m.ours
	m.peer.Kill()
	m.peer = startPeer(t, m.options)
	m.peer.expect("ready")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := old.Send(ctx, transport.Message{PPID: 60, Payload: []byte("are you there")}); err != nil {
		t.Fatal(err)
	}
	if why := ended(t, old); why.Reason != transport.PeerAbort || !strings.Contains(why.Detail, "does not know the association") {
		t.Errorf("ended with %v", &why)
	}
	m.ours = dial(t, m.endpoint, m.to, transport.Dial{RemotePort: port, LocalPort: old.LocalPort()})
	m.peer.expect("up")
	m.toPeer(t, batch{count: 50, streams: 4, size: 100, ppid: 60})
}

// TestWeAreKilledAndComeBack has a process of ours vanish and another dial from its ports: to the peer that is a restart.
func TestWeAreKilledAndComeBack(t *testing.T) {
	t.Parallel()
	needPeer(t)
	cfg := transport.DefaultConfig()
	before := listen(t, loopback("127.0.0.1"))
	at := before.LocalAddr()
	first, stop := endpoint(t, before, cfg)
	m := &meeting{options: interop.Options{UDP: freePort(t), Port: port, Streams: 16}}
	m.options.Bind = append(m.options.Bind, at.Addr())
	m.peer = startPeer(t, m.options)
	m.peer.expect("ready")
	to := at
	to = netipPort(to, m.options.UDP)
	ours := dial(t, first, to, transport.Dial{RemotePort: port, LocalPort: 5555})
	m.peer.expect("up")
	before.mute() // no ABORT says farewell
	stop()
	if why := ended(t, ours); why.Reason != transport.EndpointClosed {
		t.Errorf("ended with %v", &why)
	}
	m.endpoint, _ = endpoint(t, listen(t, at), cfg)
	m.ours = dial(t, m.endpoint, to, transport.Dial{RemotePort: port, LocalPort: 5555})
	m.peer.expect("restart")
	m.toPeer(t, batch{count: 50, streams: 4, size: 100, ppid: 60})
}

// TestIdle has nothing to say for 40 s: both keep asking whether the other is there, and answer.
func TestIdle(t *testing.T) {
	t.Parallel()
	var meetings []*meeting
	for _, who := range []side{peerDials, weDial} {
		meetings = append(meetings, meet(t, who, setting{
			cfg:  func(c *transport.Config) { c.HeartbeatInterval, c.MaxMissedHeartbeats = 5*time.Second, 4 },
			peer: func(o *interop.Options) { o.Heartbeat = 2 * time.Second },
		}))
	}
	const idle = 40 * time.Second
	over := time.After(idle)
	for _, m := range meetings {
		select {
		case <-over:
			over = time.After(0) // for the next as well
		case <-m.ours.Done():
			t.Fatalf("ended: %v", m.ours.Err())
		}
		asked, ask := m.tap.seen(packet.TypeHeartbeat)
		answered, answer := m.tap.seen(packet.TypeHeartbeatAck)
		if asked < 4 || ask < 4 || answered < ask-1 || answer < asked-1 {
			t.Errorf("heartbeats: the peer's %d and our answers %d, ours %d and its answers %d", asked, answer, ask, answered)
		}
		if m.ours.RoundTrip() <= 0 {
			t.Error("no round trip was measured")
		}
		m.toUs(t, collect(t, m.ours), batch{count: 10, streams: 2, size: 100, ppid: 60})
		m.toPeer(t, batch{count: 10, streams: 2, size: 100, ppid: 60})
	}
}

// TestRefusal has a peer hear that no SCTP port is served, and we the same of it.
func TestRefusal(t *testing.T) {
	t.Parallel()
	needPeer(t)
	e, _ := endpoint(t, listen(t, loopback("127.0.0.1")), func() transport.Config {
		cfg := transport.DefaultConfig()
		cfg.Port = port
		return cfg
	}())
	at := e.LocalAddr()
	p := startPeer(t, interop.Options{UDP: freePort(t), RemoteUDP: at.Port(), Connect: at.Addr(), To: port + 1, Streams: 4})
	if got := p.expect("refused"); !strings.Contains(got.String(), "Connection refused") {
		t.Errorf("the peer says %s", got)
	}
	server := interop.Options{UDP: freePort(t), Port: port, Streams: 4}
	startPeer(t, server).expect("ready")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := e.Dial(ctx, netipPort(at, server.UDP), transport.Dial{RemotePort: port + 1})
	if err == nil || !strings.Contains(err.Error(), "ABORT") {
		t.Errorf("dialled: %v", err)
	}
}
