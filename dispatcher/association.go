package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/protocol/receipt"
	"skyring/protocol/transport"
)

// association is the owner of one SCTP association: it numbers what comes and sends
// what goes back. Its messages outlive it.
type association struct {
	// static after newAssociation
	dispatcher *Dispatcher
	link       *transport.Association
	epoch      uint64
	log        zerolog.Logger
	credit     *credit
	replies    chan transport.Message  // full: the peer takes no replies, and is aborted
	giveUp     context.CancelCauseFunc // ends the sending of replies

	// guarded by the dispatcher's mu
	sequence uint64
	ordinals map[lane]uint64
}

// lane is what ordinals count over.
type lane struct {
	stream    uint16
	unordered bool
}

var (
	errTakesNothing = errors.New("takes no replies")
	errReplyOver    = errors.New("no more replies")
)

// serve is the life of an association, from its epoch to its end. reading ends when
// the dispatcher drains, work when it ends.
func (d *Dispatcher) serve(reading, work context.Context, link *transport.Association) {
	epoch, err := d.epoch(reading, link.Done())
	if err != nil {
		d.reading.Add(-1)
		d.count.drop(DropAssociation, 1)
		d.log.Debug().Err(err).Stringer("peer", link.PeerAddr()).Msg("association not served")
		link.Abort("not served")

		return
	}

	sending, giveUp := context.WithCancelCause(work)
	defer giveUp(errReplyOver)

	a := d.newAssociation(link, epoch, giveUp)
	defer a.credit.closeWith(work)()

	var writer sync.WaitGroup

	writer.Go(func() { a.sendReplies(sending) })

	d.register(a)
	a.log.Debug().Msg("association begins")

	err = link.Receive(reading, a.deliver)
	d.reading.Add(-1)

	if link.Err() == nil { // the dispatcher drains: what is in flight may still be answered
		select {
		case <-d.drained:
		case <-link.Done():
		}
	}

	d.unregister(a)

	late := time.AfterFunc(d.cfg.DrainTimeout, func() { giveUp(errTakesNothing) })
	defer late.Stop()

	writer.Wait()
	a.close(work, err)
}

func (d *Dispatcher) newAssociation(link *transport.Association, epoch uint64, giveUp context.CancelCauseFunc) *association {
	return &association{
		dispatcher: d,
		link:       link,
		epoch:      epoch,
		log: d.log.With().Uint64("epoch", epoch).Stringer("peer", link.PeerAddr()).
			Uint16("peerPort", link.PeerPort()).Logger(),
		credit:   newCredit(d.cfg.AssociationMessages, d.cfg.AssociationBytes),
		replies:  make(chan transport.Message, d.cfg.ReplyQueue),
		giveUp:   giveUp,
		ordinals: make(map[lane]uint64),
	}
}

func (d *Dispatcher) register(a *association) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.associations[a.epoch] = a
}

// unregister ends the association's replies after those that wait already.
func (d *Dispatcher) unregister(a *association) {
	d.mu.Lock()
	defer d.mu.Unlock()

	delete(d.associations, a.epoch)
	close(a.replies)
}

// close shuts an association down that has not ended yet.
func (a *association) close(work context.Context, received error) {
	if err := a.link.Err(); err != nil {
		a.log.Debug().Err(err).Msg("association ended")

		return
	}

	ctx, cancel := context.WithTimeout(work, a.dispatcher.cfg.DrainTimeout)
	defer cancel()

	if err := a.link.Close(ctx); err != nil {
		a.log.Debug().Err(errors.Join(received, err)).Msg("association aborted")
	}
}

// deliver takes one message from the association. It blocks while too much of the
// association is unanswered. Several streams may call it at once.
func (a *association) deliver(m transport.Message) {
	d := a.dispatcher

	if len(m.Payload) > d.cfg.MaxMessage {
		d.count.drop(DropTooLong, 1)
		a.link.Abort(fmt.Sprintf("message of %d bytes: at most %d are taken", len(m.Payload), d.cfg.MaxMessage))

		return
	}

	if !a.credit.acquire(len(m.Payload)) {
		d.count.drop(DropUnread, 1)

		return
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	d.submit(a, m)
	d.wake()
}

// submit numbers a message and gives it to the core. The caller holds mu.
func (d *Dispatcher) submit(a *association, m transport.Message) {
	k, err := key.Append(d.key[:0], a.epoch, m.PPID, m.Payload)
	if fault, ok := errors.AsType[key.Fault](err); ok {
		d.faults[fault]++
	}

	in := lane{m.Stream, m.Unordered}
	a.ordinals[in]++
	a.sequence++

	d.core.Submit(d.now(), &routing.Message{
		Epoch:     a.epoch,
		Sequence:  a.sequence,
		Ordinal:   a.ordinals[in],
		Stream:    m.Stream,
		Unordered: m.Unordered,
		PPID:      m.PPID,
		Key:       k,
		Hash:      key.Hash(k),
		Payload:   m.Payload,
	})
}

// finished queues the reply or receipt of a message that is done. The caller holds
// the dispatcher's mu.
func (a *association) finished(f *routing.Finished) {
	a.credit.release(len(f.Payload))

	var m transport.Message

	switch {
	case f.GivenUp:
		return
	case f.HasReply:
		m = transport.Message{Stream: f.Reply.Stream, PPID: f.Reply.PPID, Unordered: f.Reply.Unordered, Payload: f.Reply.Payload}
	case a.dispatcher.cfg.Receipts:
		m = transport.Message{PPID: receipt.PPID, Payload: receiptOf(f)}
	default:
		return
	}

	select {
	case a.replies <- m:
	default:
		a.dispatcher.count.drop(DropReplyQueue, 1)
		a.giveUp(errTakesNothing)
	}
}

func receiptOf(f *routing.Finished) []byte {
	r := receipt.Receipt{
		Stream:    f.Stream,
		Unordered: f.Unordered,
		Ordinal:   f.Ordinal,
		Hash:      receipt.Hash(f.Payload),
		Status:    receiptStatus(f.Status),
	}

	return r.Append(make([]byte, 0, receipt.Size))
}

func receiptStatus(s bus.Status) receipt.Status {
	switch s {
	case bus.Stale:
		return receipt.Stale
	case bus.Quarantined:
		return receipt.Quarantined
	case bus.Committed, bus.Replayed, bus.Gap, bus.Expired, bus.Unavailable: // the last three finish nothing
		return receipt.Committed
	default:
		return receipt.Committed
	}
}

// sendReplies sends what finished queues, in order, until unregister ends the queue,
// the association ends, or ctx does: then the peer is aborted.
func (a *association) sendReplies(ctx context.Context) {
	c := &a.dispatcher.count

	for m := range a.replies {
		err := a.link.Send(ctx, m)

		switch {
		case err == nil && m.PPID == receipt.PPID:
			c.receipts.Add(1)
		case err == nil:
			c.replies.Add(1)
		case ctx.Err() != nil:
			c.drop(DropReplySend, 1)
			a.link.Abort(context.Cause(ctx).Error())
		case a.link.Err() != nil:
			c.drop(DropReplySend, 1)
		default: // one message that cannot be sent: a stream too many
			c.drop(DropReplySend, 1)
			a.log.Warn().Err(err).Msg("reply not sent")
		}
	}
}
