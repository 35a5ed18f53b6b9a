package dispatcher

import (
	"strings"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
)

// onFrame takes what arrives on the dispatcher's subject: answers and deliveries of
// processors, and NATS' word that nobody listens on a node's subject. The
// subscription's goroutine calls it.
func (d *Dispatcher) onFrame(m bus.Message) {
	switch {
	case m.NoResponders:
		d.onNoResponders(m.For)
	case bus.IsDeliver(m.Data):
		d.onDeliver(m)
	default:
		d.onAnswers(m)
	}
}

// onAnswers takes an answers frame.
func (d *Dispatcher) onAnswers(m bus.Message) {
	frame, err := bus.DecodeAnswers(m.Data)
	if err != nil {
		d.count.drop(DropAnswersFrame, 1)
		d.log.Warn().Err(err).Msg("answers frame refused")

		return
	}

	if frame.Dispatcher() != d.incarnation { // for the one before us
		d.count.drop(DropOtherIncarnation, frame.Len())
		d.onForeignAnswers(frame.Dispatcher())

		return
	}

	if d.take(&frame) {
		token(d.clockDoubt)
	}
}

// take brings the answers to the core and tells whether one says that an attempt
// had expired, which a wrong idea of Redis' clock may be the reason of.
func (d *Dispatcher) take(frame *bus.AnswerReader) (expired bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	now := d.now()
	d.core.Heard(now, frame.Node())

	var a bus.Answer
	for frame.Next(&a) {
		expired = expired || a.Status == bus.Expired

		d.core.Answer(now, frame.Node(), &a)
	}

	d.tell()
	d.wake()

	return expired
}

// tell tells stations what became of their messages. The caller holds mu.
func (d *Dispatcher) tell() {
	done := d.core.Done()
	for i := range done {
		d.finished(&done[i])
	}
}

// finished tells a message's station what became of it. The caller holds mu.
func (d *Dispatcher) finished(f *routing.Finished) {
	if a := d.associations[f.Epoch]; a != nil {
		a.finished(f)

		return
	}

	if f.HasReply || d.cfg.Receipts && !f.GivenUp {
		d.count.drop(DropReplyAssociation, 1)
	}
}

func (d *Dispatcher) onNoResponders(subject string) {
	d.count.noResponders.Add(1)

	id, ok := strings.CutPrefix(subject, d.cfg.Namespace.Node(""))
	if !ok {
		return // the server does not say for whom, or it is none of ours: heartbeats will tell
	}

	d.mu.Lock()
	d.core.NoResponders(d.now(), id)
	d.wake()
	d.mu.Unlock()

	token(d.changed)
}

// token puts a token where one is missing.
func token(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
