package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/sctp"
)

// errReceiving is for a second Receive.
var errReceiving = errors.New("Receive was called before")

// receiver hands an association's messages to its owner: a goroutine for each lane in use.
type receiver struct {
	accepted   chan struct{} // closed when no more lanes come; static
	delivering atomic.Int32  // calls of deliver under way
	stopping   atomic.Bool   // the owner's context ended
	rested     chan struct{} // holds one: look whether all readers rest

	mu      sync.Mutex
	deliver func(Message)        // nil before Receive
	waiting []*sctp.Stream       // accepted before Receive; the window bounds them
	reading map[lane]readingLane // the last reader of each lane
	readers sync.WaitGroup
	active  int           // readers that have not ended
	paused  bool          // readers rest that have nothing to read
	resting int           // how many do
	resumed chan struct{} // closed when the pause ends
}

func (r *receiver) start() {
	r.accepted, r.rested, r.resumed = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
}

// readingLane is a stream being read. When the peer resets a stream, pion makes a new one for the same lane, whose reader
// waits until the one before is done.
type readingLane struct {
	stream *sctp.Stream
	done   chan struct{}
}

// Receive calls deliver for each message, in order within a stream and kind (ordered or unordered), concurrently over
// them. A deliver that blocks keeps only its own lane from going on, until the receive window is full: then the peer's
// Send blocks. Call Receive once. It returns when the association has ended and all that came before is delivered, with
// the *CloseError; or when ctx has ended and the calls of deliver under way have returned, with ctx's error. The
// association then goes on, unread.
func (a *Association) Receive(ctx context.Context, deliver func(Message)) error {
	r := &a.receiving
	if err := a.startReceiving(deliver); err != nil {
		return err
	}
	select {
	case <-r.accepted:
		r.readers.Wait()
		return a.Err()
	case <-ctx.Done():
	}
	r.resume()
	r.mu.Lock()
	r.stopping.Store(true)
	for _, l := range r.reading {
		wakeReader(l.stream)
	}
	r.mu.Unlock()
	r.readers.Wait()
	return fmt.Errorf("receive from %s: %w", a.PeerAddr(), ctx.Err())
}

func (a *Association) startReceiving(deliver func(Message)) error {
	r := &a.receiving
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deliver != nil {
		return errReceiving
	}
	r.deliver = deliver
	r.reading = map[lane]readingLane{}
	for _, stream := range r.waiting {
		a.startReading(stream)
	}
	r.waiting = nil
	return nil
}

// accept takes a lane that pion has seen for the first time, or that was accepted before.
func (a *Association) accept(stream *sctp.Stream) {
	l := lane(stream.StreamIdentifier())
	if l.unordered() { // FORWARD-TSN reaches only streams marked so
		stream.SetReliabilityParams(true, sctp.ReliabilityTypeReliable, 0)
	}
	if l == laneRefused {
		a.endpoint.tasks.Go(func() { a.readLane(stream, func(Message) {}) })
		return
	}
	r := &a.receiving
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopping.Load(), r.has(stream):
	case r.deliver == nil:
		r.waiting = append(r.waiting, stream)
	default:
		a.startReading(stream)
	}
}

// startReading starts a lane's reader; the caller holds mu.
func (a *Association) startReading(stream *sctp.Stream) {
	r, l := &a.receiving, lane(stream.StreamIdentifier())
	before, done, deliver := r.reading[l].done, make(chan struct{}), r.deliver
	r.reading[l] = readingLane{stream: stream, done: done}
	r.active++
	if r.paused {
		wakeReader(stream)
	}
	r.readers.Go(func() {
		defer r.ended(done)
		if before != nil {
			<-before
		}
		a.readLane(stream, func(m Message) {
			r.delivering.Add(1)
			defer r.delivering.Add(-1)
			deliver(m)
		})
	})
}

// ended notes that a reader has come to its end.
func (r *receiver) ended(done chan struct{}) {
	close(done)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	r.poke()
}

// maxGuess bounds the buffer that a lane keeps while it waits for a message, in bytes.
const maxGuess = 1024

// readLane delivers a lane's messages until the stream or the association ends. It reads into a buffer as long as the
// message before, since most messages of a stream are alike; where that is too short, pion tells the size and keeps the
// message.
func (a *Association) readLane(stream *sctp.Stream, deliver func(Message)) {
	l := lane(stream.StreamIdentifier())
	var buffer []byte
	for !a.receiving.stopping.Load() {
		size, ppid, err := stream.ReadSCTP(buffer)
		switch {
		case err == nil:
		case nothingToRead(err):
			a.receiving.rest()
			continue
		case !errors.Is(err, io.ErrShortBuffer):
			return
		case size > int(a.endpoint.cfg.MaxMessage):
			a.refuseMessage(size)
			return
		default:
			buffer = make([]byte, size)
			continue
		}
		if b := a.window.consumed(size); b != nil {
			a.inject(b)
		}
		payload := buffer[:size:size]
		if size < len(buffer)/2 { // else whoever keeps it would keep as much again
			payload = bytes.Clone(payload)
		}
		buffer = make([]byte, min(size, maxGuess))
		deliver(Message{Stream: l.stream(), PPID: uint32(ppid), Unordered: l.unordered(), Payload: payload})
	}
}

// refuseMessage ends the association of a peer that sends messages too long for us.
func (a *Association) refuseMessage(size int) {
	a.endpoint.count.add(OversizedMessages)
	detail := fmt.Sprintf("message of %d bytes, at most %d may be", size, a.endpoint.cfg.MaxMessage)
	a.abort(&CloseError{Reason: ProtocolViolation, Detail: detail}, causeOutOfResource, detail)
}

// starved tells whether messages could be read, but none is whole: the peer sends one that the window cannot hold.
func (a *Association) starved(now time.Time) bool {
	cfg := a.endpoint.cfg
	return a.window.shutFor(now) > time.Duration(cfg.MaxMissedHeartbeats)*cfg.HeartbeatInterval &&
		a.receiving.delivering.Load() == 0 && a.receiving.started()
}

func (r *receiver) started() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deliver != nil && !r.stopping.Load() && !r.paused
}
