package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pion/sctp"

	"skyring/protocol/transport/packet"
)

// Errors of Send that are the caller's doing.
var (
	ErrEmpty   = errors.New("empty message")                     // SCTP has none
	ErrStream  = errors.New("stream past the negotiated number") // see Streams
	ErrTooLong = errors.New("message longer than the configured most")
)

// sendBuffer bounds what an association has in flight: pion itself would take any amount.
type sendBuffer struct {
	firstTSN uint32        // static
	turn     chan struct{} // holds one: the sender whose turn it is
	room     chan struct{} // holds one: look again
	waiting  atomic.Bool   // the sender whose turn it is waits for room

	// owned by the sender whose turn it is
	lanes map[lane]*sctp.Stream
	held  int // bytes that pion holds at most

	written atomic.Uint32 // DATA chunks given to pion, modulo 2^32
	acked   atomic.Uint32 // of those, acknowledged; written by the goroutine that reads the link
	since   atomic.Int64  // endpoint's clock: from when on an acknowledgement is awaited, while any is
}

func (s *sendBuffer) start(firstTSN uint32) {
	s.firstTSN = firstTSN
	s.turn, s.room = make(chan struct{}, 1), make(chan struct{}, 1)
}

// Send queues a message. It blocks while the send buffer is full, until there is room, ctx ends or the association does.
// A nil error means that SCTP took the message, not that the peer has it. The errors are ErrEmpty, ErrStream and ErrTooLong
// for messages that cannot be sent, ctx's, and a *CloseError, which matches ErrClosed, when the association has ended or
// is being closed by either side.
func (a *Association) Send(ctx context.Context, m Message) error {
	switch {
	case len(m.Payload) == 0:
		return ErrEmpty
	case m.Stream >= a.out:
		return fmt.Errorf("%w: stream %d of %d", ErrStream, m.Stream, a.out)
	case len(m.Payload) > int(a.endpoint.cfg.MaxMessage):
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, len(m.Payload), a.endpoint.cfg.MaxMessage)
	}
	if a.isDone() {
		return a.Err()
	}
	if err := a.takeTurn(ctx); err != nil {
		return err
	}
	defer a.endTurn()
	size := len(m.Payload)
	if err := a.await(ctx, func() bool { return a.hasRoom(size) }); err != nil {
		return err
	}
	return a.write(ctx, m)
}

func (a *Association) takeTurn(ctx context.Context) error {
	select {
	case a.sending.turn <- struct{}{}: // nearly always, and far cheaper than a select that may wait
		return nil
	default:
	}
	select {
	case a.sending.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("send to %s: %w", a.PeerAddr(), ctx.Err())
	case <-a.done:
		return a.Err()
	}
}

func (a *Association) endTurn() { <-a.sending.turn }

// await waits until acknowledgements have made something come true; it is the caller's turn.
func (a *Association) await(ctx context.Context, ready func() bool) error {
	if ready() {
		return nil
	}
	a.endpoint.count.add(SendWaits)
	s := &a.sending
	s.waiting.Store(true) // before the next look: what comes after it pokes room
	defer s.waiting.Store(false)
	for !ready() {
		select {
		case <-s.room:
		case <-ctx.Done():
			return fmt.Errorf("send to %s: %w", a.PeerAddr(), ctx.Err())
		case <-a.done:
			return a.Err()
		}
	}
	return nil
}

func (a *Association) hasRoom(size int) bool {
	s := &a.sending
	fits := func() bool {
		return s.held+size <= a.endpoint.cfg.SendBuffer && s.outstanding()+a.fragments(size) <= a.maxFragments()
	}
	if fits() {
		return true
	}
	s.held = a.pion.BufferedAmount() // asked seldom, as it takes the lock that pion works under
	return s.held == 0 || fits()
}

func (a *Association) fragments(size int) uint32 {
	fragment := a.fragmentSize()
	return uint32((size + fragment - 1) / fragment)
}

// Flush waits until the peer has acknowledged all that was sent before, ctx ends or the association does; the error is
// then that of Send. Other senders wait meanwhile. It is for who has something to say before Abort.
func (a *Association) Flush(ctx context.Context) error {
	if a.isDone() {
		return a.Err()
	}
	if err := a.takeTurn(ctx); err != nil {
		return err
	}
	defer a.endTurn()
	return a.await(ctx, func() bool { return a.sending.empty(a) })
}

// write gives the message to pion; it is the caller's turn.
func (a *Association) write(ctx context.Context, m Message) error {
	stream, err := a.outStream(outLane(m))
	if err != nil {
		return a.refusedSend(ctx)
	}
	n := a.fragments(len(m.Payload))
	if a.sending.outstanding() == 0 {
		a.sending.since.Store(int64(a.endpoint.clock(time.Now())))
	}
	a.sending.written.Add(n)
	if _, err := stream.WriteSCTP(m.Payload, sctp.PayloadProtocolIdentifier(m.PPID)); err != nil {
		a.sending.written.Add(-n)
		return a.refusedSend(ctx)
	}
	a.sending.held += len(m.Payload)
	return nil
}

func (a *Association) outStream(l lane) (*sctp.Stream, error) {
	if stream, ok := a.sending.lanes[l]; ok {
		return stream, nil
	}
	stream, err := a.pion.OpenStream(uint16(l), 0)
	if err != nil {
		return nil, err
	}
	stream.SetReliabilityParams(l.unordered(), sctp.ReliabilityTypeReliable, 0)
	if a.sending.lanes == nil {
		a.sending.lanes = map[lane]*sctp.Stream{}
	}
	a.sending.lanes[l] = stream
	return stream, nil
}

// refusedSend says why pion took nothing: the association is being closed, or has just ended.
func (a *Association) refusedSend(ctx context.Context) error {
	switch {
	case a.isDone():
		return a.Err()
	case a.peerClosing.Load():
		return &CloseError{Reason: PeerShutdown, Detail: "under way"}
	case a.closing.Load():
		return &CloseError{Reason: LocalShutdown, Detail: "under way"}
	}
	select {
	case <-a.done:
		return a.Err()
	case <-ctx.Done():
		return fmt.Errorf("send to %s: %w", a.PeerAddr(), ctx.Err())
	}
}

// outstanding counts DATA chunks that the peer has not acknowledged.
func (s *sendBuffer) outstanding() uint32 { return s.written.Load() - s.acked.Load() }

// stalled is how long nothing that was sent has been acknowledged, although the peer had room for it; 0 when all is
// acknowledged. now is the endpoint's clock.
func (s *sendBuffer) stalled(now time.Duration) time.Duration {
	if s.outstanding() == 0 {
		return 0
	}
	return now - time.Duration(s.since.Load())
}

// empty reports whether the peer has everything.
func (s *sendBuffer) empty(a *Association) bool { return a.pion.BufferedAmount() == 0 }

// acknowledge notes a SACK or SHUTDOWN and reports whether it acknowledged more. One that does not, as its window is shut,
// shows that the peer is alive and slow. It runs on the goroutine that reads the link; now is the endpoint's clock.
func (s *sendBuffer) acknowledge(c packet.Chunk, now time.Duration) bool {
	tsn, ok := cumulativeTSN(c)
	if !ok {
		return false
	}
	if c.Type == packet.TypeSack && len(c.Value) >= 8 && binary.BigEndian.Uint32(c.Value[4:]) < shutBelow {
		s.since.Store(int64(now))
	}
	acked := tsn + 1 - s.firstTSN
	more := acked - s.acked.Load()
	if more == 0 || more > s.outstanding() { // an old SACK, or one for what was never sent
		return false
	}
	s.acked.Store(acked)
	s.since.Store(int64(now))
	return true
}

// processed is called when pion has dealt with a packet.
func (s *sendBuffer) processed() {
	if !s.waiting.Load() {
		return
	}
	select {
	case s.room <- struct{}{}:
	default:
	}
}
