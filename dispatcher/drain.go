package dispatcher

import (
	"context"
	"sync"
	"time"
)

const drainLook = 5 * time.Millisecond // between two looks at what is still in flight

// drain waits up to DrainTimeout for what is in flight to be answered, then lets the
// associations' owners send their last replies and shut them down, which takes
// each of them DrainTimeout at most. They read nothing any more.
func (d *Dispatcher) drain(work context.Context, readers *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(work, d.cfg.DrainTimeout)
	defer cancel()

	d.draining.Store(true)
	d.log.Info().Int("unanswered", d.unanswered()).Msg("dispatcher drains")
	d.awaitAnswers(ctx)
	close(d.drained)
	readers.Wait()

	closing, done := context.WithTimeout(work, d.cfg.DrainTimeout)
	defer done()

	if err := d.endpoint.Shutdown(closing); err != nil { // those that were never served
		d.log.Warn().Err(err).Msg("associations did not shut down in time")
	}

	if left := d.unanswered(); left > 0 {
		d.log.Error().Int("messages", left).Msg("left unanswered: their stations do not know what became of them")

		return
	}

	d.log.Info().Msg("dispatcher has drained: everything is answered")
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
