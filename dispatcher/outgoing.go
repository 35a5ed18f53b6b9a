package dispatcher

import (
	"context"
	"time"

	"skyring/dispatcher/routing"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/receipt"
	"skyring/protocol/transport"
)

// flushTimeout is how long a peer may take to acknowledge what it was sent before its
// association is aborted.
const flushTimeout = 5 * time.Second

// outgoing is what an association's sender does next: it sends a message, tells the
// node that wants to know, and aborts.
type outgoing struct {
	transport.Message // without payload: none is sent

	delivery delivery // whose this is; zero: a reply or receipt
	credit   bool     // it gives credit back when it has been sent
	size     int      // of the message that took the credit
	abort    string   // why the association is aborted then; empty: it is not
}

// finished queues the reply or receipt of a message that is done. Its credit comes back
// once SCTP has taken that: a station that takes nothing is not read any more. The caller
// holds the dispatcher's mu.
func (a *association) finished(f *routing.Finished) {
	o := outgoing{credit: true, size: len(f.Payload)}

	switch {
	case f.GivenUp:
		a.credit.release(o.size)

		return
	case f.HasReply:
		o.Message = transport.Message{
			Stream: f.Reply.Stream, PPID: a.dispatcher.wirePPID(f.Reply.PPID), Unordered: f.Reply.Unordered, Payload: f.Reply.Payload,
		}
	case a.dispatcher.cfg.Receipts && f.PPID != protocol.PPID: // ESSP has its own answers
		o.Message = transport.Message{PPID: receipt.PPID, Payload: receiptOf(f)}
	}

	if f.AbortAssociation {
		o.abort = causeOutdated
	}

	switch {
	case len(o.Payload) == 0 && o.abort == "":
		a.credit.release(o.size)
	case a.muted:
		a.credit.release(o.size)
		a.dispatcher.count.drop(DropReplyAssociation, 1)
	default:
		a.queue(o)
	}
}

// queue has something sent. The caller holds the dispatcher's mu.
func (a *association) queue(o outgoing) {
	switch a.outgoing.put(o) {
	case putQueued:
	case putClosed:
		a.dispatcher.courier.settle(o.delivery, bus.NoAssociation)
	case putFull:
		a.dispatcher.count.drop(DropReplyQueue, 1)
		a.dispatcher.courier.settle(o.delivery, bus.NoAssociation)
		a.giveUp(errTakesNothing)
	}
}

// wirePPID is the PPID under which stations know a protocol.
func (d *Dispatcher) wirePPID(ppid uint32) uint32 {
	if ppid == protocol.PPID {
		return d.cfg.ESSPPPID
	}

	return ppid
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
	case bus.Quarantined, bus.Refused:
		return receipt.Quarantined
	case bus.Committed, bus.Replayed, bus.Gap, bus.Expired, bus.Unavailable: // the last three finish nothing
		return receipt.Committed
	default:
		return receipt.Committed
	}
}

// send does what is queued, in order, until the queue is closed. When ctx ends before,
// the peer is aborted.
func (a *association) send(ctx context.Context) {
	for {
		o, more := a.outgoing.take()
		if !more {
			return
		}

		status := bus.Taken

		if len(o.Payload) > 0 && !a.sendOne(ctx, &o) {
			status = bus.NoAssociation
		}

		if o.credit {
			a.credit.release(o.size)
		}

		a.dispatcher.courier.settle(o.delivery, status)

		if o.abort != "" {
			a.abort(ctx, o.abort)
		}
	}
}

// sendOne sends one message and tells whether SCTP took it.
func (a *association) sendOne(ctx context.Context, o *outgoing) bool {
	c := &a.dispatcher.count
	err := a.link.Send(ctx, o.Message)

	switch {
	case err == nil && o.PPID == receipt.PPID:
		c.receipts.Add(1)
	case err == nil && o.delivery == delivery{}:
		c.replies.Add(1)
	case err == nil:
	case ctx.Err() != nil:
		c.drop(DropReplySend, 1)
		a.link.Abort(context.Cause(ctx).Error())
	case a.link.Err() != nil:
		c.drop(DropReplySend, 1)
	default: // one message that cannot be sent: a stream too many
		c.drop(DropReplySend, 1)
		a.log.Warn().Err(err).Msg("message for the station not sent")
	}

	return err == nil
}

// abort ends the association once its peer has what was sent before, or is too slow.
func (a *association) abort(ctx context.Context, cause string) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()

	if err := a.link.Flush(ctx); err != nil {
		a.log.Debug().Err(err).Msg("aborted before its peer had everything")
	}

	a.dispatcher.count.outdated.Add(1)
	a.log.Info().Str("cause", cause).Msg("association aborted")
	a.link.Abort(cause)
}
