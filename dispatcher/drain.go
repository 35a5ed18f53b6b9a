package dispatcher

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const drainLook = 5 * time.Millisecond // between two looks at what is still in flight

// drain ends all associations within DrainTimeout, in this order:
//
//  1. New associations are refused. Those that exist are paused: what SCTP has
//     acknowledged is read, and nothing more is acknowledged.
//  2. Three quarters of the time may pass until all that was read is answered and the
//     stations have their replies and receipts.
//  3. SHUTDOWN. If all was answered, stations whose SCTP has more to send may: it is
//     dispatched and committed too, and they are not told. ABORT at the end of the time.
//
// What is left is the error: messages that SCTP acknowledged and that may have had no effect.
func (d *Dispatcher) drain(work context.Context, stopAsking func(), serving *sync.WaitGroup) error {
	began := time.Now()
	d.answerBy, d.closeBy = began.Add(d.cfg.DrainTimeout*3/4), began.Add(d.cfg.DrainTimeout)

	d.draining.Store(true)
	close(d.drains)
	d.log.Info().Int("unanswered", d.unanswered()).Msg("dispatcher drains")

	asking := time.AfterFunc(min(d.cfg.AskTimeout, d.cfg.DrainTimeout/2), stopAsking)
	defer asking.Stop()

	answering, cancel := context.WithDeadline(work, d.answerBy)
	defer cancel()

	d.awaitAnswers(answering)
	d.complete.Store(d.reading.Load() == 0 && d.unanswered() == 0)
	close(d.drained)
	serving.Wait()

	closing, done := context.WithDeadline(work, d.closeBy)
	defer done()

	if err := d.endpoint.Shutdown(closing); err != nil { // those that were never served
		d.log.Warn().Err(err).Msg("associations did not shut down in time")
	}

	d.awaitAnswers(closing)

	return d.left()
}

// left names what the dispatcher does not bring to its end.
func (d *Dispatcher) left() error {
	d.mu.Lock()
	unanswered, of := d.core.Unanswered(), d.core.UnansweredOf()
	d.mu.Unlock()

	unread := d.unread.Load()
	if unanswered == 0 && unread == 0 {
		d.log.Info().Msg("dispatcher has drained: everything is answered")

		return nil
	}

	for epoch, messages := range of {
		d.log.Error().Uint64("epoch", epoch).Int("messages", messages).
			Msg("left unanswered: the station does not know what became of them")
	}

	return fmt.Errorf("dispatcher %s: %d messages were left unanswered, and %d unread", d.cfg.ID, unanswered, unread)
}

func (d *Dispatcher) unanswered() int {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.core.Unanswered()
}

// awaitAnswers returns when nothing is being read or in flight any more, or ctx ends.
func (d *Dispatcher) awaitAnswers(ctx context.Context) {
	look := time.NewTicker(drainLook)
	defer look.Stop()

	for d.reading.Load() > 0 || d.unanswered() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// windUp brings an association to its end when the dispatcher drains.
func (a *association) windUp(work context.Context) {
	d := a.dispatcher
	<-d.drains

	late := time.AfterFunc(time.Until(d.closeBy), func() {
		a.giveUp(errTakesNothing)
		a.credit.close()
	})
	defer late.Stop()
	defer func() { <-a.received }() // which may take late

	answering, cancel := context.WithDeadline(work, d.answerBy)
	defer cancel()

	paused := a.link.Pause(answering) == nil
	if paused {
		a.readingEnds()
	}

	select {
	case <-d.drained:
	case <-a.link.Done():
		return
	}

	a.mute()
	<-a.sent

	closing, done := context.WithDeadline(work, d.closeBy)
	defer done()

	_ = a.link.Flush(closing) // what fails shows in Close

	if paused && d.complete.Load() {
		a.link.Resume()
	}

	if err := a.link.Close(closing); err != nil {
		a.log.Warn().Err(err).Msg("association aborted")
	}
}

// mute ends the association's replies after those that wait already.
func (a *association) mute() {
	a.dispatcher.mu.Lock()
	defer a.dispatcher.mu.Unlock()

	a.muted = true
	a.outgoing.close()
}
