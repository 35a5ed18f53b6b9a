package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"skyring/protocol/receipt"
	"skyring/protocol/transport"
)

// fallbackPort is the SCTP port dialled where a malformed capture has port 0.
const fallbackPort = 9899

// player sends what one station sent over an association of its own.
type player struct {
	// static after newPlayer
	station *station
	journal *journal
	window  chan struct{} // a token for each message that waits for its receipt; nil: unbounded
	heard   chan struct{} // closed when the association has ended and all that came over it is in the journal

	// owned by play, others read them after it returned
	association *transport.Association // nil: none came up
	folded      uint64                 // messages sent on another stream than captured
	err         error                  // why it could not send all, or lost its association
}

func newPlayer(s *station, cfg Config) *player {
	p := &player{station: s, journal: newJournal(s.messages), heard: make(chan struct{})}
	if cfg.asFastAsItGoes() && cfg.Receipts != ReceiptsOff {
		p.window = make(chan struct{}, cfg.Window)
	}

	return p
}

// play dials at the station's time, sends its messages and waits until they are
// answered or nothing more is to be expected. The association stays open.
func (p *player) play(ctx context.Context, r *round) {
	defer p.journal.finish()

	if err := p.open(ctx, r); err != nil {
		p.err = err

		return
	}

	r.receivers.Go(func() {
		defer close(p.heard)

		// It ends with the association, whose error is read from there.
		_ = p.association.Receive(context.WithoutCancel(ctx), func(m transport.Message) { p.receive(m, r) })
	})

	if err := p.send(ctx, r); err != nil {
		p.err = err

		return
	}

	p.journal.finish()
	p.await(ctx, r)
}

func (p *player) open(ctx context.Context, r *round) error {
	if err := r.await(ctx, p.station.at(0)); err != nil {
		return err
	}

	select {
	case r.dials <- struct{}{}:
		defer func() { <-r.dials }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}

	r.busy.Add(1)
	defer r.busy.Add(-1)

	dialling, cancel := context.WithTimeout(ctx, r.cfg.dialTimeout())
	defer cancel()

	association, err := r.dialer.Dial(dialling, r.cfg.Target.Address, transport.Dial{
		RemotePort: cmp.Or(r.cfg.SCTPPort, p.station.port, fallbackPort),
		Streams:    p.station.streams(),
	})
	if err != nil {
		return fmt.Errorf("open an association with %s: %w", r.cfg.Target, err)
	}

	p.association = association
	r.events.Add(1)

	return nil
}

// send hands all messages over. A message that the association refuses is left out; the
// end of the association, or of ctx, ends it.
func (p *player) send(ctx context.Context, r *round) error {
	_, streams := p.association.Streams()

	var refusals []error

	for i := range p.station.messages {
		if err := r.await(ctx, p.station.at(i)); err != nil {
			return err
		}

		if err := p.enter(ctx, r); err != nil {
			return err
		}

		if err := p.sendOne(ctx, i, streams); err != nil {
			if ended := p.ended(ctx); ended != nil {
				return ended
			}

			refusals = append(refusals, err)

			r.events.Add(1)

			continue
		}

		r.sent()
	}

	if len(refusals) > 0 {
		return fmt.Errorf("%s refused, the first: %w", plural(uint64(len(refusals)), "message"), refusals[0])
	}

	return nil
}

// sendOne hands one message over, on its stream folded into those there are.
func (p *player) sendOne(ctx context.Context, i int, streams uint16) error {
	m := p.station.messages[i]

	stream := m.Stream % max(streams, 1)
	if stream != m.Stream {
		p.folded++
	}

	p.journal.sending(i, stream, time.Now())

	err := p.association.Send(ctx, transport.Message{
		Stream:    stream,
		PPID:      m.PPID,
		Unordered: m.Unordered,
		Payload:   m.Payload,
	})
	if err != nil {
		p.journal.refused(i, stream)
		p.leave()

		return fmt.Errorf("send message %d of %d bytes: %w", i+1, len(m.Payload), err)
	}

	return nil
}

// enter waits for a place in the window. Where no receipts come there is none.
func (p *player) enter(ctx context.Context, r *round) error {
	if p.window == nil {
		return nil
	}

	select {
	case p.window <- struct{}{}:
		return nil
	default:
	}

	select {
	case p.window <- struct{}{}:
		return nil
	case <-r.withoutReceipts:
		return nil
	case <-p.association.Done():
		return p.association.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *player) leave() {
	select {
	case <-p.window:
	default:
	}
}

// ended says why nothing more can be sent; nil: it can.
func (p *player) ended(ctx context.Context) error {
	select {
	case <-p.association.Done():
		return p.association.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

// await waits for the last answers.
func (p *player) await(ctx context.Context, r *round) {
	select {
	case <-p.journal.complete:
	case <-r.withoutReceipts:
	case <-p.heard:
		p.unanswered(r)
	case <-ctx.Done():
		p.err = context.Cause(ctx)
	}
}

// unanswered tells of an association that ended before the last answer, of a target that does answer.
func (p *player) unanswered(r *round) {
	select {
	case <-p.journal.complete:
		return
	default:
	}

	if r.answers.Load() > 0 {
		p.err = p.association.Err()

		return
	}

	p.lostAssociation()
}

// receive takes what the target sends; the transport calls it.
func (p *player) receive(m transport.Message, r *round) {
	defer r.events.Add(1)

	if m.PPID != receipt.PPID {
		p.journal.reply()

		return
	}

	got, err := receipt.Decode(m.Payload)
	if err != nil {
		p.journal.malformed()

		return
	}

	sent, first := p.journal.receipt(got)
	if first {
		p.leave()
		r.answered(time.Since(sent))
	}
}

// close ends the association in order, so that all that was sent arrives.
func (p *player) close(ctx context.Context) {
	if p.association == nil {
		return
	}

	select {
	case <-p.association.Done():
		p.lostAssociation()

		return
	default:
	}

	if err := p.association.Close(ctx); err != nil && !errors.Is(err, transport.ErrClosed) && p.err == nil {
		p.err = fmt.Errorf("close the association: %w", err)
	}
}

// lostAssociation tells of an association that ended by itself, unless all was answered
// before: what it had under way may not have arrived. A peer that shuts down has it all.
func (p *player) lostAssociation() {
	if p.err != nil {
		return
	}

	select {
	case <-p.journal.complete:
		return
	default:
	}

	var ended *transport.CloseError
	if err := p.association.Err(); !errors.As(err, &ended) || ended.Reason != transport.PeerShutdown {
		p.err = err
	}
}
