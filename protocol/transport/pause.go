package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/sctp"

	"skyring/protocol/transport/packet"
)

// intake is the gate between the front end and pion.
type intake struct {
	mu     sync.Mutex
	shut   bool              // DATA is dropped, so that it is not acknowledged
	lanes  map[lane]struct{} // of DATA that went through
	latest lane              // of them
	reset  pendingReset
	newest uint32 // the highest TSN that went through

	resetDone atomic.Uint64 // see done; pion's writer sets it
}

// isNew tells whether DATA has a higher TSN than all before, and notes it; the caller holds mu.
func (k *intake) isNew(c packet.Chunk) bool {
	tsn := binary.BigEndian.Uint32(c.Value)
	if int32(tsn-k.newest) <= 0 {
		return false
	}
	k.newest = tsn
	return true
}

// Pause takes no more messages: what the peer sends from now on is not acknowledged, so that SCTP sends it again. It
// returns when each message that was acknowledged before has come back from Receive's deliver. Then whatever the peer
// holds for delivered has been delivered, and nothing else. Messages to the peer go on. The error is that of ctx, the
// association stays paused then; or the *CloseError of one that ends meanwhile.
//
// A pause is for who is about to close: see Resume.
func (a *Association) Pause(ctx context.Context) error {
	a.shutIntake()
	if err := a.settle(ctx); err != nil {
		return err
	}
	a.receiving.pause()
	a.acceptAll()
	return a.receiving.awaitRest(ctx, a)
}

func (a *Association) shutIntake() {
	a.intake.mu.Lock()
	defer a.intake.mu.Unlock()
	a.intake.shut = true
	a.window.forget()
}

// settle waits until pion has dealt with every packet that got through.
func (a *Association) settle(ctx context.Context) error {
	passed := make(chan struct{})
	a.conn.inbox.put(&packetBuffer{passed: passed})
	select {
	case <-passed:
		return nil
	case <-a.done:
		return a.Err()
	case <-ctx.Done():
		return fmt.Errorf("pause the association with %s: %w", a.PeerAddr(), ctx.Err())
	}
}

// acceptAll takes the lanes that supervise has not come to.
func (a *Association) acceptAll() {
	a.intake.mu.Lock()
	defer a.intake.mu.Unlock()
	for l := range a.intake.lanes {
		if stream, err := a.pion.OpenStream(uint16(l), 0); err == nil { // the one that is there, if any
			a.accept(stream)
		}
	}
}

// Resume ends a pause. Before Close, it lets a peer that has not yet been heard out come to its end: told SHUTDOWN, it
// sends what it had taken from its user before, and no more. Without, such a peer does not answer SHUTDOWN, and is
// sent an ABORT, from which it sees what was not received.
func (a *Association) Resume() {
	a.intake.mu.Lock()
	a.intake.shut = false
	a.intake.mu.Unlock()
	a.receiving.resume()
}

// pause makes readers rest that find nothing more to read.
func (r *receiver) pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = true
	for _, l := range r.reading {
		wakeReader(l.stream)
	}
}

// wakeReader makes a read return when there is nothing to read.
func wakeReader(s *sctp.Stream) { _ = s.SetReadDeadline(time.Unix(0, 0)) } // never fails

func (r *receiver) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.paused {
		return
	}
	r.paused = false
	for _, l := range r.reading {
		_ = l.stream.SetReadDeadline(time.Time{})
	}
	close(r.resumed)
	r.resumed = make(chan struct{})
}

// rest is where a reader waits that found nothing to read. It returns at once unless there is a pause.
func (r *receiver) rest() {
	r.mu.Lock()
	if !r.paused {
		r.mu.Unlock()
		return
	}
	resumed := r.resumed
	r.resting++
	r.poke()
	r.mu.Unlock()
	<-resumed
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resting--
}

// poke lets awaitRest look again; the caller holds mu.
func (r *receiver) poke() {
	select {
	case r.rested <- struct{}{}:
	default:
	}
}

// awaitRest waits until every reader rests, or has come to its stream's end.
func (r *receiver) awaitRest(ctx context.Context, a *Association) error {
	for !r.atRest() {
		select {
		case <-r.rested:
		case <-a.done:
			return a.Err()
		case <-ctx.Done():
			return fmt.Errorf("pause the association with %s: %w", a.PeerAddr(), ctx.Err())
		}
	}
	return nil
}

func (r *receiver) atRest() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resting == r.active && len(r.waiting) == 0
}

// has tells whether a stream was accepted before; the caller holds mu.
func (r *receiver) has(stream *sctp.Stream) bool {
	return r.reading[lane(stream.StreamIdentifier())].stream == stream || slices.Contains(r.waiting, stream)
}

// nothingToRead tells that wakeReader made a read return.
func nothingToRead(err error) bool { return errors.Is(err, sctp.ErrReadDeadlineExceeded) }
