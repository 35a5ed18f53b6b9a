package calibrate

import (
	"context"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"skyring/protocol/bus"
)

// slowest is the longest time that is told apart.
const slowest = 2 * patience

// offer sends messages at a rate, whether answers come or not, and waits for the last answer.
func (g *generator) offer(ctx context.Context, rate float64, length, target time.Duration) (Round, error) {
	t := &tally{first: g.entry + 1, all: make(chan struct{}), times: hdrhistogram.New(1, slowest.Microseconds(), 3)}
	g.round.Store(t)
	defer g.round.Store(nil)
	began := time.Now()
	total := max(1, int(rate*length.Seconds()))
	bound := min(most-1, slack+int(hopelessly*rate*target.Seconds()))
	sent, stopped, err := g.pour(ctx, t, began, schedule{rate: rate, total: total, bound: bound})
	if err != nil {
		return Round{}, err
	}
	t.end(sent)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-t.all:
	case <-late.C:
		return Round{}, fmt.Errorf("calibrate: %d of %d messages have no answer after %v", t.unanswered(sent), sent, patience)
	case <-ctx.Done():
		return Round{}, fmt.Errorf("calibrate: %w", ctx.Err())
	}
	return t.summary(rate, began, stopped), nil
}

// schedule is what is to be sent.
type schedule struct {
	rate         float64
	total, bound int // messages, and how many may be unanswered
}

// pour sends what is due until all are sent or too many are unanswered.
func (g *generator) pour(ctx context.Context, t *tally, began time.Time, s schedule) (sent int, stopped bool, err error) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		due := min(s.total, 1+int(time.Since(began).Seconds()*s.rate))
		for sent < due {
			n := min(due-sent, frameLimit)
			if err := g.sendNext(n, began.Add(time.Duration(float64(sent)/s.rate*float64(time.Second)))); err != nil {
				return sent, false, err
			}
			if sent += n; t.unanswered(sent) > s.bound {
				return sent, true, nil
			}
		}
		if sent == s.total {
			return sent, false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return sent, false, fmt.Errorf("calibrate: %w", ctx.Err())
		}
	}
}

// sendNext sends the next messages of the mix, of which the first was due at a time.
func (g *generator) sendNext(n int, due time.Time) error {
	frame, heartbeats := make([]bus.Envelope, n), make([]bool, n)
	for i := range frame {
		var err error
		if frame[i], heartbeats[i], err = g.mix.next(); err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
	}
	return g.send(frame, heartbeats, due)
}

// summary is the round as it was.
func (t *tally) summary(rate float64, began time.Time, stopped bool) Round {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Round{
		Offered: rate, Failed: t.failed, Stopped: stopped,
		P50: time.Duration(t.times.ValueAtQuantile(50)) * time.Microsecond, P99: time.Duration(t.times.ValueAtQuantile(99)) * time.Microsecond,
	}
	if took := (t.last.Sub(began) - r.P50).Seconds(); took > 0 {
		r.Answered = float64(t.answered) / took
	}
	return r
}
