package transport_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skyring/protocol/transport"
)

// flood sends on all streams, ordered and not, as fast as it goes until the association takes no more. It counts what
// the association took.
func flood(tb testing.TB, a *transport.Association) (taken *atomic.Uint32, done <-chan struct{}) {
	tb.Helper()
	taken, ended := new(atomic.Uint32), make(chan struct{})
	go func() {
		defer close(ended)
		_, streams := a.Streams()
		for n := uint32(0); ; n++ {
			err := a.Send(context.Background(), transport.Message{
				Stream: uint16(n) % streams, Unordered: n%3 == 0, Payload: binary.BigEndian.AppendUint32(nil, n),
			})
			if err != nil {
				return
			}
			taken.Add(1)
		}
	}()
	return taken, ended
}

// counted receives in the background and counts.
func counted(tb testing.TB, a *transport.Association, deliver func()) (n *atomic.Uint32, done <-chan struct{}) {
	tb.Helper()
	n, ended := new(atomic.Uint32), make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Receive(context.Background(), func(transport.Message) { deliver(); n.Add(1) })
	}()
	tb.Cleanup(func() { a.Abort("test over"); <-ended })
	return n, ended
}

// Of a peer that never ceases to send, what was acknowledged has been delivered once the pause has begun, and what it
// had taken from its user comes when the association is closed.
func TestPauseWithABusyPeer(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	received, ended := counted(t, accepted, func() {})
	sent, done := flood(t, dialled)
	eventually(t, "traffic", func() bool { return received.Load() > 500 })
	if err := accepted.Pause(deadline(t)); err != nil {
		t.Fatal(err)
	}
	delivered := received.Load()
	eventually(t, "more comes", func() bool { return server.Stats().Count(transport.PausedData) > 0 })
	if acked := transport.Acknowledged(dialled); acked > delivered {
		t.Errorf("%d acknowledged, %d delivered", acked, delivered)
	}
	if received.Load() != delivered {
		t.Errorf("%d delivered after the pause had begun", received.Load()-delivered)
	}
	if err := accepted.Send(deadline(t), transport.Message{Payload: []byte("receipt")}); err != nil {
		t.Error(err)
	}
	if err := accepted.Flush(deadline(t)); err != nil {
		t.Error(err)
	}
	accepted.Resume()
	if err := accepted.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
	<-done
	<-ended
	if received.Load() != sent.Load() {
		t.Errorf("%d taken from the user, %d delivered", sent.Load(), received.Load())
	}
}

// A peer that has more to send is not acknowledged anything while its association is closed without Resume.
func TestClosedWhilePaused(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	received, ended := counted(t, accepted, func() {})
	_, done := flood(t, dialled)
	eventually(t, "traffic", func() bool { return received.Load() > 100 })
	if err := accepted.Pause(deadline(t)); err != nil {
		t.Fatal(err)
	}
	delivered := received.Load()
	eventually(t, "more comes", func() bool { return server.Stats().Count(transport.PausedData) > 0 })
	soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := accepted.Close(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	<-done
	<-ended
	if acked := transport.Acknowledged(dialled); acked > delivered || received.Load() != delivered {
		t.Errorf("%d acknowledged, %d delivered, then %d", acked, delivered, received.Load())
	}
}

// What was acknowledged and waits behind a slow receiver is delivered before the pause has begun; a pause that may not
// wait so long fails, and the messages still come.
func TestPauseWaitsForTheReceiver(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	gate := make(chan struct{})
	received, ended := counted(t, accepted, func() { <-gate })
	const messages = 300
	for range messages {
		if err := dialled.Send(deadline(t), transport.Message{Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := dialled.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	given, giveUp := context.WithCancel(context.Background())
	giveUp()
	if err := accepted.Pause(given); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	paused := make(chan error, 1)
	ctx := deadline(t)
	go func() { paused <- accepted.Pause(ctx) }()
	close(gate)
	if err := <-paused; err != nil || received.Load() != messages {
		t.Errorf("%v, %d delivered", err, received.Load())
	}
	accepted.Abort("enough")
	<-ended
	if err := accepted.Pause(deadline(t)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A pause does not keep Receive from ending with its context, nor with the association.
func TestPausedReceiveEnds(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	for _, end := range []func(*transport.Association, context.CancelFunc){
		func(_ *transport.Association, cancel context.CancelFunc) { cancel() },
		func(a *transport.Association, _ context.CancelFunc) { a.Abort("over") },
	} {
		dialled, accepted := connect(t, client, server)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var ended sync.WaitGroup
		came := make(chan struct{})
		ended.Go(func() { _ = accepted.Receive(ctx, func(transport.Message) { close(came) }) })
		if err := dialled.Send(deadline(t), transport.Message{Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		<-came
		if err := accepted.Pause(deadline(t)); err != nil {
			t.Fatal(err)
		}
		end(accepted, cancel)
		ended.Wait()
		accepted.Abort("over")
	}
}

// Who refuses, and accepts until nobody is left, has all.
func TestRefuse(t *testing.T) {
	server, client := start(t, quick()), start(t, quick())
	const waiting = 20
	for range waiting {
		if _, err := client.Dial(deadline(t), server.LocalAddr(), transport.Dial{RemotePort: 2905}); err != nil {
			t.Fatal(err)
		}
	}
	server.Refuse()
	if _, err := client.Dial(deadline(t), server.LocalAddr(), transport.Dial{RemotePort: 2905}); err == nil {
		t.Error("accepted")
	}
	ended, end := context.WithCancel(context.Background())
	end()
	for range waiting {
		if _, err := server.Accept(ended); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := server.Accept(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
