package transport_test

import (
	"context"
	"errors"
	"testing"

	"skyring/protocol/transport"
)

// What was flushed has arrived when the association is aborted.
func TestFlushBeforeAbort(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	messages := collect(t, dialled)
	for range 100 {
		if err := accepted.Send(deadline(t), transport.Message{PPID: 60, Payload: make([]byte, 3000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := accepted.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	accepted.Abort("a newer one has its place")
	for range 100 {
		next(t, messages)
	}
	if detail := wantReason(t, dialled, transport.PeerAbort); detail == "" {
		t.Error("no cause")
	}
	if err := accepted.Flush(deadline(t)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Flush after the end: %v", err)
	}
}

// A peer that takes nothing does not hold Flush up for longer than its ctx.
func TestFlushGivesUp(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	_, accepted := connect(t, client, server)
	for range 100 {
		if err := accepted.Send(deadline(t), transport.Message{PPID: 60, Payload: make([]byte, 2000)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	flushed := make(chan error, 1)
	go func() { flushed <- accepted.Flush(ctx) }()
	cancel()
	if err := <-flushed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	accepted.Abort("the test is over")
}
