package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skyring/protocol/transport"
)

// tick is how often progress is shown and looked for.
const tick = 100 * time.Millisecond

// errIdle ends what waits for a target that does nothing any more.
var errIdle = errors.New("nothing came from the target and nothing could be sent to it")

// round is one playing of all stations.
type round struct {
	// static
	cfg       Config
	dialer    *transport.Dialer
	players   []*player
	pace      pace
	dials     chan struct{} // a token for each association in the making
	latencies *latencies

	receivers sync.WaitGroup // of the players' associations

	events          atomic.Uint64 // anything that happened; stands still when the target does nothing
	busy            atomic.Int64  // players that wait for their time or are dialling: no idleness
	lastSent        atomic.Int64  // UnixNano
	lastAnswered    atomic.Int64  // UnixNano
	handed, answers atomic.Uint64 // messages sent, messages answered

	withoutReceipts chan struct{} // closed when no receipts are waited for
}

func newRound(cfg Config, dialer *transport.Dialer, stations []*station, times *latencies) *round {
	r := &round{
		cfg:             cfg,
		dialer:          dialer,
		pace:            pace{speed: cfg.Speed},
		dials:           make(chan struct{}, cfg.Dials),
		latencies:       times,
		withoutReceipts: make(chan struct{}),
	}
	for _, s := range stations {
		r.players = append(r.players, newPlayer(s, cfg))
	}

	if cfg.Receipts == ReceiptsOff {
		close(r.withoutReceipts)
	}

	return r
}

// play plays all stations to their end and closes their associations. report is called
// at each tick and at the end.
func (r *round) play(ctx context.Context, report func(*round)) {
	r.pace.start = time.Now()

	playing, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)

	var players sync.WaitGroup
	for _, p := range r.players {
		players.Go(func() { p.play(playing, r) })
	}

	over := make(chan struct{})
	watcher := make(chan struct{})

	go func() {
		defer close(watcher)
		r.watch(over, giveUp, report)
	}()

	players.Wait()
	close(over)
	<-watcher
	r.close(context.WithoutCancel(ctx))
	r.receivers.Wait()
	report(r)
}

// close ends the associations, some at a time.
func (r *round) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CloseTimeout)
	defer cancel()

	var closing sync.WaitGroup
	for _, p := range r.players {
		r.dials <- struct{}{}

		closing.Go(func() {
			defer func() { <-r.dials }()

			p.close(ctx)
		})
	}

	closing.Wait()
}

// watch reports until over, and looks whether anything still happens.
func (r *round) watch(over <-chan struct{}, giveUp context.CancelCauseFunc, report func(*round)) {
	ticker := time.NewTicker(min(tick, r.cfg.IdleTimeout/4+1))
	defer ticker.Stop()

	seen, since := r.events.Load(), time.Now()

	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}

		report(r)

		if events := r.events.Load(); events != seen || r.busy.Load() > 0 {
			seen, since = events, time.Now()

			continue
		}

		if time.Since(since) >= r.cfg.IdleTimeout {
			r.idle(giveUp)

			since = time.Now()
		}
	}
}

// idle takes a target that sent no receipt at all for one that sends none; any other
// one has stopped.
func (r *round) idle(giveUp context.CancelCauseFunc) {
	select {
	case <-r.withoutReceipts:
	default:
		if r.cfg.Receipts == ReceiptsAuto && r.answers.Load() == 0 {
			close(r.withoutReceipts)

			return
		}
	}

	giveUp(fmt.Errorf("%w for %s", errIdle, r.cfg.IdleTimeout))
}

// await waits until a message of the capture is due.
func (r *round) await(ctx context.Context, offset time.Duration) error {
	if r.cfg.asFastAsItGoes() {
		return context.Cause(ctx)
	}

	r.busy.Add(1)
	defer r.busy.Add(-1)

	if err := r.pace.wait(ctx, offset); err != nil {
		return context.Cause(ctx)
	}

	return nil
}

// opened tells whether an association came up; it is known when the round is over.
func (r *round) opened() bool {
	return slices.ContainsFunc(r.players, func(p *player) bool { return p.association != nil })
}

func (r *round) sent() {
	r.events.Add(1)
	r.handed.Add(1)
	r.lastSent.Store(time.Now().UnixNano())
}

func (r *round) answered(after time.Duration) {
	r.answers.Add(1)
	r.lastAnswered.Store(time.Now().UnixNano())

	r.latencies.record(after)
}

// judgedByReceipts tells whether receipts came or had to come.
func (r *round) judgedByReceipts() bool {
	if r.answers.Load() > 0 {
		return true
	}

	select {
	case <-r.withoutReceipts:
		return false
	default:
		return true
	}
}

// took is the time from the start to the last message sent or answered.
func (r *round) took() time.Duration {
	last := max(r.lastSent.Load(), r.lastAnswered.Load())
	if last == 0 {
		return 0
	}

	return time.Unix(0, last).Sub(r.pace.start)
}

// done counts the messages that are through: answered, or sent where no answers come.
func (r *round) done() uint64 {
	if r.judgedByReceipts() {
		return r.answers.Load()
	}

	return r.handed.Load()
}
