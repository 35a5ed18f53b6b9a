package transport_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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
	filling := make([]byte, 60) // messages of fewer than 8 bytes would end in an ABORT, see ReceiveWindow
	go func() {
		n := 0
		for ; ; n++ {
			payload := append(binary.BigEndian.AppendUint32(nil, uint32(n)), filling...)
			if err := slow.Send(ctx, transport.Message{PPID: 60, Payload: payload}); err != nil {
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

// blocked is an association whose receiver stands still until the gate opens.
type blocked struct {
	*station
	e     *transport.Endpoint
	a     *transport.Association
	gate  chan struct{}
	taken chan struct{} // a token for each message delivered
}

func block(t *testing.T, cfg transport.Config) *blocked {
	t.Helper()
	server := start(t, cfg)
	b := &blocked{station: newStation(t, server), e: server, gate: make(chan struct{}), taken: make(chan struct{}, 4096)}
	b.connect()
	b.a = accept(t, server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.a.Receive(context.Background(), func(transport.Message) {
			b.taken <- struct{}{}
			<-b.gate
		})
	}()
	t.Cleanup(func() {
		b.a.Abort("over")
		select {
		case <-b.gate:
		default:
			close(b.gate)
		}
		<-done
	})
	return b
}

// sendNow sends a message that wants its SACK at once.
func (b *blocked) sendNow(text string) (chunk []byte) {
	b.t.Helper()
	chunk = b.data(whole(1, text))
	chunk[1] |= packet.FlagImmediate
	b.send(b.serverTag, chunk)
	return chunk
}

func (b *blocked) sack() (tsn, window uint32) {
	b.t.Helper()
	_, c := b.expect(packet.TypeSack)
	return binary.BigEndian.Uint32(c.Value), binary.BigEndian.Uint32(c.Value[4:])
}

// fill sends until the window is shut, and gives the message that was refused, the number of those that were not.
func (b *blocked) fill(text string) (refused []byte, taken int) {
	b.t.Helper()
	for window := uint32(1); window > 0; taken++ {
		b.sendNow(text)
		_, window = b.sack()
	}
	refused = b.sendNow(text)
	if tsn, window := b.sack(); tsn != b.tsn-2 || window != 0 {
		b.t.Fatalf("a closed window took DATA: TSN %d of %d, window %d", tsn, b.tsn-1, window)
	}
	return refused, taken
}

func narrowWindow() transport.Config {
	cfg := steady()
	cfg.ReceiveWindow, cfg.MaxMessage = 8<<10, 4<<10
	return cfg
}

// The peer hears of a window that opens at once, and what it sent into the closed one counts.
func TestWindowUpdate(t *testing.T) {
	b := block(t, narrowWindow())
	b.fill(string(make([]byte, 1000)))
	close(b.gate)
	for tsn, window := b.sack(); tsn != b.tsn-1 || window <= narrowWindow().ReceiveWindow/2; {
		tsn, window = b.sack()
	}
}

// What TestWindowUpdate sees is the window's doing: without it, pion says nothing until the peer asks.
func TestNoWindowUpdateWithoutWindow(t *testing.T) {
	b := block(t, narrowWindow())
	transport.WithoutWindowUpdates(b.a)
	refused, taken := b.fill(string(make([]byte, 1000)))
	close(b.gate)
	for range taken {
		<-b.taken
	}
	for range 20 {
		b.send(b.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, []byte("alive?"))))
		if _, chunks := b.read(); chunks[0].Type != packet.TypeHeartbeatAck {
			t.Fatalf("%s came unasked", chunks[0].Type)
		}
	}
	b.send(b.serverTag, refused)
	for tsn, window := b.sack(); tsn != b.tsn-1 || window <= narrowWindow().ReceiveWindow/2; {
		tsn, window = b.sack()
	}
}

// The window counts bytes, pion's guard messages: 8 bytes a message fill the window first, fewer end the association
// of a peer that goes on while the receiver stands still.
func TestTinyMessages(t *testing.T) {
	b := block(t, narrowWindow())
	if _, taken := b.fill("8 bytes."); taken < 1024 || b.a.Err() != nil {
		t.Errorf("%d messages of 8 bytes: %v", taken, b.a.Err())
	}
	b = block(t, narrowWindow())
	for i := range 1026 { // pion holds 1,024, the receiver one
		b.send(b.serverTag, b.data(whole(1, "7 bytes")))
		if i%128 == 0 {
			b.expect(packet.TypeSack) // the socket's buffer is not what is tested
		}
	}
	_, abort := b.expect(packet.TypeAbort)
	if binary.BigEndian.Uint16(abort.Value) != 13 {
		t.Errorf("ABORT %x", abort.Raw)
	}
	if detail := wantReason(t, b.a, transport.ProtocolViolation); !strings.Contains(detail, "protocol violation (13): ") {
		t.Errorf("detail %q", detail)
	}
	counts(t, b.e, transport.ProtocolAborts, 1)
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
	r, dialled, accepted := connectByRelay(t, client, server)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(7, 7))
	var seen [overtaken + 1]int
	r.disturbing(func(b []byte) (what fate) {
		if t := packet.ChunkType(b[packet.HeaderLen]); t != packet.TypeData && t != packet.TypeSack {
			return onTime
		}
		mu.Lock()
		defer mu.Unlock()
		switch n := random.IntN(100); {
		case n < 3:
			what = lost
		case n < 6:
			what = twice
		case n < 11:
			what = overtaken
		}
		seen[what]++
		return what
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
	mu.Lock()
	defer mu.Unlock()
	if seen[lost] == 0 || seen[twice] == 0 || seen[overtaken] == 0 {
		t.Errorf("the link was not bad: %v packets by fate", seen)
	}
}

// Messages that are longer or shorter than those before come whole, and what was delivered stays as it was.
func TestMessagesOfAllLengths(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	into := collect(t, accepted)
	var sent, got []transport.Message
	for _, size := range []int{1, 2, 500, 3, 1023, 1024, 1025, 5000, 600, 300, 299, 10, 9, 8, 16_000, 15_999, 1, 1, 1024, 511, 513, 1024} {
		m := transport.Message{PPID: uint32(size), Payload: random(size)}
		if err := dialled.Send(deadline(t), m); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, m)
	}
	for range sent {
		got = append(got, next(t, into))
	}
	for i, m := range got {
		if !bytes.Equal(m.Payload, sent[i].Payload) || m.PPID != sent[i].PPID {
			t.Errorf("message %d: %d bytes, sent were %d", i, len(m.Payload), len(sent[i].Payload))
		}
		if cap(m.Payload) > 2*len(m.Payload)+8 {
			t.Errorf("message %d of %d bytes holds %d", i, len(m.Payload), cap(m.Payload))
		}
	}
}
