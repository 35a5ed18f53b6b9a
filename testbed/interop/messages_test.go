package interop_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/testbed/interop"
	"skyring/testbed/link"
)

// batch is messages as both sides make them: number n goes on stream n % streams.
type batch struct {
	count, streams, size int
	ppid                 uint32
	unordered            bool
}

func (b batch) kind() string {
	if b.unordered {
		return "unordered"
	}
	return "ordered"
}

func (b batch) payload(n uint32) []byte {
	p := make([]byte, b.size)
	interop.Fill(p, n)
	return p
}

// checker holds what comes to a batch: every message once, whole, on its stream, and in order where that is promised.
type checker struct {
	batch
	t    *testing.T
	seen map[uint32]bool
	next []uint32 // of each stream
}

func newChecker(t *testing.T, b batch) *checker {
	t.Helper()
	c := &checker{batch: b, t: t, seen: map[uint32]bool{}}
	for stream := range b.streams {
		c.next = append(c.next, uint32(stream))
	}
	return c
}

func (c *checker) take(n uint32, stream int, ppid uint32, kind string) {
	c.t.Helper()
	switch {
	case c.seen[n]:
		c.t.Fatalf("message %d twice", n)
	case stream != int(n)%c.streams || ppid != c.ppid || kind != c.kind():
		c.t.Fatalf("message %d on stream %d, PPID %d, %s", n, stream, ppid, kind)
	case !c.unordered && c.next[stream] != n:
		c.t.Fatalf("message %d on stream %d, %d was to come", n, stream, c.next[stream])
	}
	c.seen[n] = true
	c.next[stream] = n + uint32(c.streams)
}

// toUs has the peer send a batch, and takes it.
func (m *meeting) toUs(t *testing.T, messages <-chan transport.Message, b batch) {
	t.Helper()
	m.peer.tell("send %d %d %d %d %s", b.count, b.streams, b.size, b.ppid, b.kind())
	check := newChecker(t, b)
	for range b.count {
		select {
		case got, ok := <-messages:
			if !ok {
				t.Fatalf("association ended: %v", m.ours.Err())
			}
			n := binary.BigEndian.Uint32(got.Payload)
			if !bytes.Equal(got.Payload, b.payload(n)) {
				t.Fatalf("message %d is not as it was sent: %d bytes", n, len(got.Payload))
			}
			kind := "ordered"
			if got.Unordered {
				kind = "unordered"
			}
			check.take(n, int(got.Stream), got.PPID, kind)
		case <-time.After(patience):
			t.Fatalf("%d of %d messages came", len(check.seen), b.count)
		}
	}
	m.peer.expect("sent")
}

// toPeer sends a batch, and holds the peer to it.
func (m *meeting) toPeer(t *testing.T, b batch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		for n := range uint32(b.count) {
			message := transport.Message{Stream: uint16(int(n) % b.streams), PPID: b.ppid, Unordered: b.unordered, Payload: b.payload(n)}
			if err := m.ours.Send(ctx, message); err != nil {
				failed <- fmt.Errorf("message %d: %w", n, err)
				return
			}
		}
		failed <- nil
	}()
	bySum := map[string]uint32{}
	for n := range uint32(b.count) {
		bySum[sum(b.payload(n))] = n
	}
	check := newChecker(t, b)
	for range b.count {
		e := m.peer.expect("message")
		n, known := bySum[e.Word(5)]
		if !known || e.Word(4) != strconv.Itoa(b.size) {
			t.Fatalf("the peer got what was not sent: %s", e)
		}
		stream, err1 := strconv.Atoi(e.Word(1))
		ppid, err2 := strconv.ParseUint(e.Word(2), 10, 32)
		if err1 != nil || err2 != nil {
			t.Fatalf("the peer says %s", e)
		}
		check.take(n, stream, uint32(ppid), e.Word(3))
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

func sum(b []byte) string {
	h := fnv.New32a()
	_, _ = h.Write(b) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}

// exchange sends a batch each way.
func exchange(on trial, s setting, b batch) *meeting {
	on.Helper()
	m := meet(on, s)
	m.both(on.T, collect(on.T, m.ours), b)
	return m
}

// both sends a batch each way.
func (m *meeting) both(t *testing.T, messages <-chan transport.Message, b batch) {
	t.Helper()
	m.toUs(t, messages, b)
	m.toPeer(t, b)
}

// TestThousandMessages goes over four streams each way, in order, with NGAP's PPID.
func TestThousandMessages(t *testing.T) { bothSides(t, thousandMessages) }

func thousandMessages(on trial) {
	exchange(on, setting{}, batch{count: 1000, streams: 4, size: 128, ppid: 60})
}

// TestUnordered sends without order, over all streams.
func TestUnordered(t *testing.T) { bothSides(t, unordered) }

func unordered(on trial) {
	exchange(on, setting{}, batch{count: 500, streams: 16, size: 300, ppid: 0xFFFFFFFF, unordered: true})
}

// TestLongMessages have to be fragmented and put together again, both ways.
func TestLongMessages(t *testing.T) { bothSides(t, longMessages) }

func longMessages(on trial) {
	exchange(on, setting{}, batch{count: 100, streams: 4, size: 20_000, ppid: 60})
}

// TestIPv6 meets on ::1.
func TestIPv6(t *testing.T) {
	testCase{test: twoKilobytes}.run(t, func(*testing.T) lab { return loopbackLab("::1") })
}

func twoKilobytes(on trial) {
	exchange(on, setting{}, batch{count: 100, streams: 4, size: 2000, ppid: 60})
}

// TestLoss loses a packet in twenty each way: nothing is missing in the end, and all is in order.
func TestLoss(t *testing.T) { bothSides(t, lossBetween) }

func lossBetween(on trial) {
	t := on.T
	m := exchange(on, setting{terms: link.Direction{Delay: 2 * time.Millisecond, Loss: 0.05}},
		batch{count: 1000, streams: 4, size: 600, ppid: 60})
	for way, s := range m.link.Stats().Ways {
		if s.Dropped(link.Lost) == 0 {
			t.Errorf("%s: nothing was lost: %s", link.Way(way), s)
		}
	}
}

// TestPeerEchoes has the peer send back 1,000 messages, and the other way round.
func TestPeerEchoes(t *testing.T) { bothSides(t, peerEchoes) }

func peerEchoes(on trial) {
	t := on.T
	m := meet(on, setting{peer: func(o *interop.Options) { o.Quiet = true }})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.ours.Receive(context.Background(), func(got transport.Message) { _ = m.ours.Send(context.Background(), got) })
	}()
	t.Cleanup(func() { m.ours.Abort("test over"); <-done })
	m.peer.tell("echo 1000 64 128")
	if e := m.peer.expect("echoed"); e.Word(0) != "1000" {
		t.Errorf("%s", e)
	}
}

// TestStreamsAreAgreed takes the fewer of what both want.
func TestStreamsAreAgreed(t *testing.T) { bothSides(t, streamsAreAgreed) }

func streamsAreAgreed(on trial) {
	t := on.T
	m := meet(on, setting{
		cfg:  func(c *transport.Config) { c.Streams = 8 },
		peer: func(o *interop.Options) { o.Streams = 2000 },
	})
	if in, out := m.ours.Streams(); in != 8 || out != 8 {
		t.Errorf("%d streams in, %d out", in, out)
	}
	messages := collect(t, m.ours)
	b := batch{count: 80, streams: 8, size: 50, ppid: 60}
	m.toUs(t, messages, b)
	m.toPeer(t, b)
}
