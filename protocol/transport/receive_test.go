package transport_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// A receiver that blocks stops its peer's Send, and nobody else's; all comes when it goes on.
func TestBackPressure(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	slow, slowEnd := connect(t, client, server)
	quickOne, quickEnd := connect(t, client, server)
	gate := make(chan struct{})
	received := make(chan transport.Message, 1<<16)
	go func() {
		_ = slowEnd.Receive(context.Background(), func(m transport.Message) {
			<-gate
			received <- m
		})
		close(received)
	}()
	ctx, cancel := context.WithCancel(context.Background())
	sent := make(chan int, 1)
	blocked := make(chan struct{}, 1<<16)
	go func() {
		n := 0
		for ; ; n++ {
			if err := slow.Send(ctx, transport.Message{PPID: 60, Payload: binary.BigEndian.AppendUint32(nil, uint32(n))}); err != nil {
				break
			}
			blocked <- struct{}{}
		}
		sent <- n
	}()
	quickAt, quickFrom := collect(t, quickEnd), collect(t, quickOne)
	for range 50 {
		echoes(t, quickOne, quickFrom, quickAt, quickEnd)
	}
	stalls := 0
	for last := -1; stalls < 50; { // as many looks without progress
		echoes(t, quickOne, quickFrom, quickAt, quickEnd)
		if len(blocked) == last {
			stalls++
		} else {
			stalls = 0
		}
		last = len(blocked)
	}
	cancel()
	n := <-sent
	close(gate)
	for i := range n {
		if m := next(t, received); binary.BigEndian.Uint32(m.Payload) != uint32(i) {
			t.Fatalf("message %d is %x", i, m.Payload)
		}
	}
	if err := slow.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if _, more := <-received; more {
		t.Error("more than was sent")
	}
}

// A closed window opens again as soon as the receiver reads on, not only when the sender's timer probes.
func TestWindowOpens(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	gate := make(chan struct{})
	received := make(chan transport.Message, 1024)
	go func() {
		_ = accepted.Receive(context.Background(), func(m transport.Message) {
			<-gate
			received <- m
		})
	}()
	payload := bytes.Repeat([]byte("x"), 20_000)
	sent := make(chan error, 1)
	go func() {
		for range 40 {
			if err := dialled.Send(context.Background(), transport.Message{Payload: payload}); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range 40 {
		gate <- struct{}{}
		if m := next(t, received); !bytes.Equal(m.Payload, payload) {
			t.Fatal("damaged")
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

// The peer hears of a window that opens at once, and what it sent into the closed one counts.
func TestWindowUpdate(t *testing.T) {
	cfg := steady()
	cfg.ReceiveWindow, cfg.MaxMessage = 8<<10, 4<<10
	server := start(t, cfg)
	s := newStation(t, server)
	s.connect()
	a := accept(t, server)
	gate, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Receive(context.Background(), func(transport.Message) { <-gate })
	}()
	t.Cleanup(func() { a.Abort("over"); <-done })
	payload := string(make([]byte, 1000))
	send := func() {
		d := s.data(whole(1, payload))
		d[1] |= packet.FlagImmediate
		s.send(s.serverTag, d)
	}
	sack := func() (tsn, window uint32) {
		_, c := s.expect(packet.TypeSack)
		return binary.BigEndian.Uint32(c.Value), binary.BigEndian.Uint32(c.Value[4:])
	}
	for window := uint32(1); window > 0; {
		send()
		_, window = sack()
	}
	send() // refused
	last := s.tsn - 1
	if tsn, window := sack(); tsn != last-1 || window != 0 {
		t.Fatalf("a closed window took DATA: TSN %d of %d, window %d", tsn, last, window)
	}
	close(gate)
	for {
		if tsn, window := sack(); tsn == last && window > cfg.ReceiveWindow/2 {
			break
		}
	}
}

func TestReceiveOnce(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	if err := dialled.Send(deadline(t), transport.Message{Payload: []byte("early")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := accepted.Receive(ctx, func(m transport.Message) {
		if string(m.Payload) != "early" {
			t.Errorf("got %q", m.Payload)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Receive: %v", err)
	}
	if err := accepted.Receive(context.Background(), func(transport.Message) {}); err == nil {
		t.Error("Receive runs twice")
	}
	if accepted.Err() != nil {
		t.Error("ended with its Receive")
	}
}

// A peer that sends a message larger than the window is cut off rather than kept stuck for ever.
func TestMessageLargerThanTheWindow(t *testing.T) {
	small := steady()
	small.MaxMessage, small.ReceiveWindow = 8<<10, 8<<10
	small.HeartbeatInterval, small.MaxMissedHeartbeats = 10*time.Millisecond, 100
	server, client := start(t, small), start(t, steady())
	dialled, accepted := connect(t, client, server)
	collect(t, accepted)
	if err := dialled.Send(deadline(t), transport.Message{Payload: make([]byte, 60_000)}); err != nil {
		t.Fatal(err)
	}
	wantReason(t, accepted, transport.ProtocolViolation)
	wantReason(t, dialled, transport.PeerAbort)
}

// Loss, duplication and reordering on the link change nothing of what is delivered.
func TestBadLink(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	r := newRelay(t, server.LocalAddr())
	dialled, err := client.Dial(deadline(t), r.addr(), transport.Dial{RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	accepted := accept(t, server)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(7, 7))
	r.losing(func(b []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		return packet.ChunkType(b[packet.HeaderLen]) <= packet.TypeSack && random.IntN(100) < 3
	})
	var messages []transport.Message
	for i := range 400 {
		m := transport.Message{
			Stream: uint16(i % 4), PPID: uint32(i), Unordered: i%5 == 0, Payload: bytes.Repeat(fmt.Appendf(nil, "%d,", i), 1+i%300),
		}
		messages = append(messages, m)
	}
	sent := make(chan error, 1)
	go func() {
		for _, m := range messages {
			if err := dialled.Send(context.Background(), m); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	check(t, messages, collect(t, accepted))
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}
