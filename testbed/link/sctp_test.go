package link_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
	"skyring/testbed/link"
)

// endpoint runs an SCTP endpoint on loopback until the test ends.
func endpoint(t *testing.T, cfg transport.Config) *transport.Endpoint {
	t.Helper()
	socket, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := transport.New(socket, cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("endpoint: %v", err)
		}
	})
	return e
}

// pair is an association through a link, and both its ends.
type pair struct {
	link               *link.Emulator
	dialled, accepted  *transport.Association
	toServer, toClient <-chan transport.Message
	server             *transport.Endpoint
}

// connect sets an association up through a link that is good still.
func connect(t *testing.T, cfg transport.Config) pair {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server, client := endpoint(t, cfg), endpoint(t, cfg)
	e, _ := start(t, to(server.LocalAddr()))
	dialled, err := client.Dial(ctx, e.Addr(), transport.Dial{RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := server.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		link: e, dialled: dialled, accepted: accepted, server: server,
		toServer: collect(t, accepted), toClient: collect(t, dialled),
	}
}

func collect(t *testing.T, a *transport.Association) <-chan transport.Message {
	t.Helper()
	messages, done := make(chan transport.Message, 4096), make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Receive(context.Background(), func(m transport.Message) { messages <- m }); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Receive: %v", err)
		}
	}()
	t.Cleanup(func() { a.Abort("test over"); <-done })
	return messages
}

func receive(t *testing.T, messages <-chan transport.Message, a *transport.Association) transport.Message {
	t.Helper()
	select {
	case m := <-messages:
		return m
	case <-a.Done():
		t.Fatalf("association ended: %v", a.Err())
	case <-time.After(patience):
		t.Fatal("no message came")
	}
	return transport.Message{}
}

// patient never finds a path failed while a test lasts.
func patient() transport.Config {
	cfg := transport.DefaultConfig()
	cfg.MaxMissedHeartbeats = 100
	return cfg
}

// send passes n messages one way over some streams.
func send(t *testing.T, a *transport.Association, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range n {
		m := transport.Message{Stream: uint16(i % 4), PPID: 60, Payload: append(binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, 400)...)}
		if err := a.Send(ctx, m); err != nil {
			t.Errorf("message %d: %v", i, err)
			return
		}
	}
}

// inOrder takes n messages of send, each stream in order.
func inOrder(t *testing.T, messages <-chan transport.Message, a *transport.Association, n int) {
	t.Helper()
	next := [4]int{0, 1, 2, 3}
	for range n {
		m := receive(t, messages, a)
		if got := int(binary.BigEndian.Uint32(m.Payload)); got != next[m.Stream] {
			t.Fatalf("stream %d: message %d, want %d", m.Stream, got, next[m.Stream])
		}
		next[m.Stream] += 4
	}
}

// TestAssociationOverBadLink sends 600 messages each way through loss, reordering and doubling: all arrive, once and in order.
func TestAssociationOverBadLink(t *testing.T) {
	t.Parallel()
	const n = 600
	cfg := patient()
	cfg.MaxPacket = 512 // a packet for each message
	p := connect(t, cfg)
	bad := link.Direction{
		Delay: 5 * time.Millisecond, Jitter: 2 * time.Millisecond, Loss: 0.05, Duplicate: 0.05, Reorder: 0.1, ReorderBy: 5 * time.Millisecond,
	}
	if err := p.link.Impair(bad, bad); err != nil {
		t.Fatal(err)
	}
	var sending sync.WaitGroup
	sending.Go(func() { send(t, p.dialled, n) })
	sending.Go(func() { send(t, p.accepted, n) })
	inOrder(t, p.toServer, p.accepted, n)
	inOrder(t, p.toClient, p.dialled, n)
	sending.Wait()
	for way, s := range p.link.Stats().Ways {
		if s.Dropped(link.Lost) == 0 || s.Duplicated == 0 || s.Overtaken == 0 {
			t.Errorf("%s: the link was not bad: %s", link.Way(way), s)
		}
	}
	if len(p.toServer)+len(p.toClient) != 0 {
		t.Error("more messages than were sent")
	}
}

// TestAssociationSurvivesRebind goes on behind another port, both ways.
func TestAssociationSurvivesRebind(t *testing.T) {
	t.Parallel()
	p := connect(t, patient())
	before := p.accepted.PeerAddr()
	p.link.Rebind()
	send(t, p.dialled, 4)
	inOrder(t, p.toServer, p.accepted, 4)
	eventually(t, "the new port is taken", func() bool { return p.server.Stats().Count(transport.Rebinds) == 1 })
	send(t, p.accepted, 4)
	inOrder(t, p.toClient, p.dialled, 4)
	if after := p.accepted.PeerAddr(); after == before {
		t.Errorf("peer is at %s still", after)
	}
}

// TestShortOutageIsSurvived loses all for less than it takes to give the path up: what was sent in it arrives after it.
func TestShortOutageIsSurvived(t *testing.T) {
	t.Parallel()
	p := connect(t, patient())
	cut(t, p.link)
	send(t, p.dialled, 8)
	eventually(t, "sent into the outage", func() bool { return p.link.Stats().Ways[link.ToTarget].Dropped(link.Lost) > 0 })
	if err := p.link.Impair(link.Direction{}, link.Direction{}); err != nil {
		t.Fatal(err)
	}
	inOrder(t, p.toServer, p.accepted, 8)
}

// TestLongOutageEndsThePath has both ends find that the path failed.
func TestLongOutageEndsThePath(t *testing.T) {
	t.Parallel()
	cfg := transport.DefaultConfig()
	cfg.HeartbeatInterval = 100 * time.Millisecond
	p := connect(t, cfg)
	cut(t, p.link)
	for _, a := range []*transport.Association{p.dialled, p.accepted} {
		select {
		case <-a.Done():
		case <-time.After(patience):
			t.Fatal("the association goes on without a link")
		}
		var why *transport.CloseError
		if !errors.As(a.Err(), &why) || why.Reason != transport.PathFailed {
			t.Errorf("ended with %v", a.Err())
		}
	}
}

// cut takes the link away.
func cut(t *testing.T, e *link.Emulator) {
	t.Helper()
	if err := e.Impair(link.Direction{Loss: 1}, link.Direction{Loss: 1}); err != nil {
		t.Fatal(err)
	}
}
