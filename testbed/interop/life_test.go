package interop_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
	"skyring/testbed/interop"
)

// TestPeerShutsDown ends gracefully from the peer's side, after all that it sent.
func TestPeerShutsDown(t *testing.T) { bothSides(t, peerShutsDown) }

func peerShutsDown(on trial) {
	t := on.T
	m := meet(on, setting{})
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
}

// TestWeShutDown ends gracefully from ours: the peer has all that was sent before.
func TestWeShutDown(t *testing.T) { bothSides(t, weShutDown) }

func weShutDown(on trial) {
	t := on.T
	m := meet(on, setting{})
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
}

// TestPeerAborts ends at once, and its cause is told.
func TestPeerAborts(t *testing.T) { bothSides(t, peerAborts) }

func peerAborts(on trial) {
	t := on.T
	m := meet(on, setting{})
	m.peer.tell("abort")
	why := ended(t, m.ours)
	if why.Reason != transport.PeerAbort || why.Detail != on.lab.cause() {
		t.Errorf("ended with %v", &why)
	}
}

// TestWeAbort ends at once, and the peer gets the cause.
func TestWeAbort(t *testing.T) { bothSides(t, weAbort) }

func weAbort(on trial) {
	t := on.T
	m := meet(on, setting{})
	m.ours.Abort("station off")
	if e := m.peer.expect("closed"); strings.Join(e.Words[1:], " ") != "aborted 12 station_off" {
		t.Errorf("the peer says %s", e)
	}
}

// TestPeerClientIsKilledAndComesBack has a peer restart on its old ports: the old association ends, the new one works.
func TestPeerClientIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	peerClientIsKilledAndComesBack(onLoopback(t, peerDials))
}

func peerClientIsKilledAndComesBack(on trial) {
	t := on.T
	m := meet(on, setting{peer: func(o *interop.Options) { o.Port = 4000 }})
	old := m.ours
	m.peer.Kill()
	m.begin(t, on.who)
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
	peerServerIsKilledAndComesBack(onLoopback(t, weDial))
}

func peerServerIsKilledAndComesBack(on trial) {
	t := on.T
	m := meet(on, setting{})
	old := m.ours
	m.peer.Kill()
	m.peer = on.lab.start(t, m.options)
	m.peer.expect("ready")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := old.Send(ctx, transport.Message{PPID: 60, Payload: []byte("are you there")})
	if err != nil && !errors.Is(err, transport.ErrClosed) { // a heartbeat may have found out, where a server takes its time
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
	weAreKilledAndComeBack(onLoopback(t, weDial))
}

func weAreKilledAndComeBack(on trial) {
	t := on.T
	cfg := transport.DefaultConfig()
	before := on.lab.listen(t, netip.AddrPort{})
	at := before.LocalAddr()
	first, stop := endpoint(t, before, cfg)
	m := &meeting{lab: on.lab}
	m.options, m.to = on.lab.peer(t)
	m.options.Port, m.options.Streams = port, 16
	m.peer = on.lab.start(t, m.options)
	m.peer.expect("ready")
	ours := dial(t, first, m.to, transport.Dial{RemotePort: port, LocalPort: 5555})
	m.peer.expect("up")
	before.mute() // no ABORT says farewell
	stop()
	if why := ended(t, ours); why.Reason != transport.EndpointClosed {
		t.Errorf("ended with %v", &why)
	}
	m.endpoint, _ = endpoint(t, on.lab.listen(t, at), cfg)
	m.ours = dial(t, m.endpoint, m.to, transport.Dial{RemotePort: port, LocalPort: 5555})
	m.peer.expect("restart")
	m.toPeer(t, batch{count: 50, streams: 4, size: 100, ppid: 60})
}

// TestIdle has nothing to say for 40 s, on loopback and over IP, the peer having dialled and we: both ends of each keep
// asking whether the other is there, and answer.
func TestIdle(t *testing.T) {
	t.Parallel()
	idle(trial{T: t, who: peerDials, lab: loopbackLab("127.0.0.1")}, trial{T: t, who: weDial, lab: loopbackLab("127.0.0.1")},
		trial{T: t, who: peerDials, lab: newSite(t, 1, how{native: true})},
		trial{T: t, who: weDial, lab: newSite(t, 1, how{native: true})})
}

// idle has all its trials at once, in the same 40 s.
func idle(trials ...trial) {
	var all []*meeting
	for _, on := range trials {
		all = append(all, meet(on, setting{
			cfg:  func(c *transport.Config) { c.HeartbeatInterval, c.MaxMissedHeartbeats = 5*time.Second, 4 },
			peer: func(o *interop.Options) { o.Heartbeat = 2 * time.Second },
		}))
	}
	quiet, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	for i, m := range all {
		select {
		case <-quiet.Done():
		case <-m.ours.Done():
			trials[i].Fatalf("%s, %s: ended: %v", m.tap.Mode(), trials[i].who, m.ours.Err())
		}
	}
	for i, m := range all {
		m.wasIdle(trials[i])
	}
}

// wasIdle holds both ends to have asked and answered, and to be there still.
func (m *meeting) wasIdle(on trial) {
	t := on.T
	asked, ask := m.tap.seen(packet.TypeHeartbeat)
	answered, answer := m.tap.seen(packet.TypeHeartbeatAck)
	if asked < 4 || ask < 4 || answered < ask-1 || answer < asked-1 {
		t.Errorf("%s, %s: heartbeats: the peer's %d and our answers %d, ours %d and its answers %d",
			m.tap.Mode(), on.who, asked, answer, ask, answered)
	}
	if m.ours.RoundTrip() <= 0 {
		t.Errorf("%s, %s: no round trip was measured", m.tap.Mode(), on.who)
	}
	m.both(t, collect(t, m.ours), batch{count: 10, streams: 2, size: 100, ppid: 60})
}

// TestRefusal has a peer hear that no SCTP port is served, and we the same of it.
func TestRefusal(t *testing.T) {
	t.Parallel()
	peerIsRefused(onLoopback(t, peerDials))
	weAreRefused(onLoopback(t, weDial))
}

func peerIsRefused(on trial) {
	m := prepare(on, setting{
		cfg:  func(c *transport.Config) { c.Port = port },
		peer: func(o *interop.Options) { o.To = port + 1 },
	})
	p := on.lab.start(on.T, m.options)
	if got := p.expect("refused"); !strings.Contains(got.String(), "Connection refused") {
		on.Errorf("the peer says %s", got)
	}
}

func weAreRefused(on trial) {
	m := prepare(on, setting{})
	on.lab.start(on.T, m.options).expect("ready")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := m.endpoint.Dial(ctx, m.to, transport.Dial{RemotePort: port + 1})
	if err == nil || !strings.Contains(err.Error(), "ABORT") {
		on.Errorf("dialled: %v", err)
	}
}
