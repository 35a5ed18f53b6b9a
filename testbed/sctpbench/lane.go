package sctpbench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// lane is the client's end of an association, or of what stands for one.
type lane struct {
	// static after open
	write func(message []byte) error // keeps nothing of it
	back  chan uint64                // numbers that came back; closed when no more can come

	// owned by pass: numbers of the next message, and of the next echo
	sent, got uint64

	surplus atomic.Uint64 // echoes that nobody waits for
}

// misshapen stands for the number of an echo that is not as long as what was sent.
const misshapen = ^uint64(0)

func newLane(write func([]byte) error) *lane {
	return &lane{write: write, back: make(chan uint64, maxWindow)}
}

// take is for the reader: an echo came.
func (l *lane) take(message []byte) {
	number := misshapen
	if len(message) == messageSize {
		number = binary.BigEndian.Uint64(message)
	}
	select {
	case l.back <- number:
	default:
		l.surplus.Add(1)
	}
}

// ended is for the reader, once: nothing more will come.
func (l *lane) ended() { close(l.back) }

// clock is of one measurement: times since begun.
type clock struct {
	begun       time.Time
	from, until time.Duration // what comes back between counts
}

// tally is what a lane has passed.
type tally struct {
	sent  int
	times []time.Duration // round trips of what counts
}

// pass keeps window messages under way until it is time, and waits for the echoes.
func (l *lane) pass(ctx context.Context, window int, c clock) (t tally, err error) {
	message, begun := make([]byte, messageSize), make([]time.Duration, window)
	for back := 0; ; {
		now := time.Since(c.begun)
		if now < c.until && t.sent < back+window {
			begun[t.sent%window] = now
			if err := l.send(message); err != nil {
				return t, err
			}
			t.sent++
			continue
		}
		if back == t.sent {
			return t, nil
		}
		if err := l.await(ctx); err != nil {
			return t, err
		}
		if now := time.Since(c.begun); now >= c.from && now < c.until {
			t.times = append(t.times, now-begun[back%window])
		}
		back++
	}
}

// send numbers a message and sends it.
func (l *lane) send(message []byte) error {
	binary.BigEndian.PutUint64(message, l.sent)
	l.sent++
	if err := l.write(message); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// await takes the echo whose turn it is.
func (l *lane) await(ctx context.Context) error {
	select {
	case got, open := <-l.back:
		number := l.got
		l.got++
		switch {
		case !open:
			return errors.New("the association ended")
		case got == misshapen:
			return fmt.Errorf("echo %d is not of %d bytes", number, messageSize)
		case got != number:
			return fmt.Errorf("echo %d came instead of %d: messages were lost, doubled or out of order", got, number)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lanes are all of a site whose both ends are in this process.
type lanes []*lane

// sustain passes messages on all lanes at once.
func (all lanes) sustain(ctx context.Context, window int, t timing) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := clock{begun: time.Now(), from: t.warm, until: t.warm + t.counted}
	tallies := make([]tally, len(all))
	var passing sync.WaitGroup
	for i, l := range all {
		passing.Go(func() {
			var err error
			if tallies[i], err = l.pass(ctx, window, c); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	cpu, others, _ := t.meter(ctx, func() (time.Duration, error) { return ownTime(), nil }) // its error is the context's
	passing.Wait()
	if err := context.Cause(ctx); err != nil {
		return outcome{}, err
	}
	o := outcome{took: t.counted, cpu: cpu, others: others}
	var times []time.Duration
	for _, t := range tallies {
		o.sent += t.sent
		times = append(times, t.times...)
	}
	if o.counted = len(times); o.counted > 0 {
		slices.Sort(times)
		o.p50, o.p99 = times[len(times)/2], times[len(times)*99/100]
	}
	return o, nil
}

// check says whether more came back than was sent; no reader may be left.
func (all lanes) check() error {
	var more uint64
	for _, l := range all {
		more += l.surplus.Load()
		for range l.back {
			more++
		}
	}
	if more > 0 {
		return fmt.Errorf("%d messages came back that nobody had sent", more)
	}
	return nil
}

// wiring is what a site in this process is made of while it is set up, and until it is closed.
type wiring struct {
	lanes   lanes
	closers []func() error // in the order of opening
	tasks   sync.WaitGroup // they end when all is closed
}

func (w *wiring) onClose(f func() error) { w.closers = append(w.closers, f) }

// site is the result of an open.
func (w *wiring) site() *site { return &site{sustain: w.lanes.sustain, close: w.close} }

func (w *wiring) close() error {
	var errs []error
	for _, f := range slices.Backward(w.closers) {
		errs = append(errs, f())
	}
	w.tasks.Wait()
	return errors.Join(append(errs, w.lanes.check())...)
}

// fail undoes what has been opened.
func (w *wiring) fail(err error) (*site, error) {
	for _, f := range slices.Backward(w.closers) {
		_ = f() // err is what went wrong
	}
	w.tasks.Wait()
	return nil, err
}

// add makes a lane that read feeds until it returns.
func (w *wiring) add(write func([]byte) error, read func(take func([]byte))) {
	l := newLane(write)
	w.lanes = append(w.lanes, l)
	w.tasks.Go(func() {
		defer l.ended()
		read(l.take)
	})
}
