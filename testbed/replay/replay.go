package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/trace"
)

// ErrNothing says that the captures hold no message to send.
var ErrNothing = errors.New("nothing to replay")

// Bounds of what the transport takes.
const (
	maxMessage      = 1 << 20 // bytes; longer messages are refused, and told of
	maxAssociations = 1 << 20
)

// Replay plays captures into a target.
type Replay struct {
	// static after New
	cfg      Config
	stations []*station
	messages uint64 // of one round
	store    *statestore.Store
	progress func(done, total uint64)
	log      zerolog.Logger
}

// New plans the replay. store is where the target keeps its sessions, nil: the ledger is
// not compared, and the target must send receipts. Others may send to the target meanwhile, see compare.
// progress, nil for none, is told from one goroutine at a time how many messages are
// through. ErrNothing: no user message was captured on the side chosen.
func New(cfg Config, traces []*trace.Trace, store *statestore.Store, progress func(done, total uint64), log zerolog.Logger) (*Replay, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("replay settings: %w", err)
	}

	if store == nil && cfg.Receipts == ReceiptsOff {
		return nil, errors.New("replay settings: receipts: off and no state store: nothing could be judged")
	}

	if progress == nil {
		progress = func(uint64, uint64) {}
	}

	r := &Replay{cfg: cfg, stations: plan(traces, cfg.Side), store: store, progress: progress, log: log}
	if len(r.stations) == 0 {
		return nil, nothing(traces, cfg.Side)
	}

	for _, s := range r.stations {
		r.messages += uint64(len(s.messages))
	}

	r.cfg.Transport = fit(cfg.Transport, r.stations)

	return r, nil
}

// nothing says in which captures there is no message.
func nothing(traces []*trace.Trace, side Side) error {
	names := make([]string, len(traces))
	for i, t := range traces {
		names[i] = t.File
	}

	from := string(side)
	if side == Both {
		from = "client or server"
	}

	return fmt.Errorf("%w: %s: no whole user message from a %s was captured", ErrNothing, strings.Join(names, ", "), from)
}

// fit raises the limits of replay's own end to what the stations need; it only dials.
func fit(cfg transport.Config, stations []*station) transport.Config {
	cfg.AcceptBacklog = 0
	cfg.MaxAssociations = max(cfg.MaxAssociations, min(len(stations), maxAssociations))

	for _, s := range stations {
		cfg.Streams = max(cfg.Streams, s.streams())

		for _, m := range s.messages {
			cfg.MaxMessage = max(cfg.MaxMessage, uint32(min(len(m.Payload), maxMessage)))
		}
	}

	cfg.ReceiveWindow = max(cfg.ReceiveWindow, cfg.MaxMessage)
	cfg.SendBuffer = max(cfg.SendBuffer, int(cfg.MaxMessage))

	return cfg
}

// Run plays all rounds, judges them and returns the verdict; a bad one is no error. When
// ctx ends, it closes what is open in order and returns the verdict of what was sent so
// far, without the ledger, together with the context's error.
func (r *Replay) Run(ctx context.Context) (*Verdict, error) {
	var (
		since baseline
		err   error
	)

	if r.store != nil {
		if since, err = takeBaseline(ctx, r.store); err != nil {
			return nil, err
		}
	}

	rounds, err := r.play(ctx)
	if err != nil {
		return nil, err
	}

	v, want := r.judge(rounds)
	defer v.conclude()

	if err := ctx.Err(); err != nil {
		v.interrupted()

		return v, fmt.Errorf("replay interrupted: %w", err)
	}

	v.unplayed(len(rounds), r.cfg.Times)

	if r.store == nil {
		v.withoutLedger()

		return v, nil
	}

	o, c, err := settle(ctx, r.store, since, want.sessions, r.cfg.IdleTimeout)
	if err != nil {
		v.unreadable(err)

		return v, err
	}

	v.withLedger(o, c)

	return v, nil
}

// play opens the socket and plays the rounds over it.
func (r *Replay) play(ctx context.Context) ([]*round, error) {
	dialer, err := transport.NewDialer([]transport.Target{r.cfg.Target}, r.cfg.Secure, r.cfg.Transport, r.log)
	if err != nil {
		return nil, fmt.Errorf("open a socket to replay from: %w", err)
	}

	running, stop := context.WithCancel(context.WithoutCancel(ctx))

	var (
		serving sync.WaitGroup
		failure error
	)

	serving.Go(func() { failure = dialer.Run(running) })

	rounds := r.rounds(ctx, dialer)

	stop()
	serving.Wait()

	if failure != nil && !errors.Is(failure, context.Canceled) {
		return nil, fmt.Errorf("replay over %s: %w", dialer.LocalAddr(), failure)
	}

	return rounds, nil
}

func (r *Replay) rounds(ctx context.Context, dialer *transport.Dialer) []*round {
	times := newLatencies()
	total := r.messages * uint64(r.cfg.Times) //nolint:gosec // at least 1

	var (
		rounds []*round
		before uint64
	)

	for n := range r.cfg.Times {
		if ctx.Err() != nil {
			break
		}

		r.log.Debug().Int("round", n+1).Int("stations", len(r.stations)).Msg("round begins")

		one := newRound(r.cfg, dialer, r.stations, times)
		one.play(ctx, func(one *round) { r.progress(before+one.done(), total) })
		before += one.done()
		rounds = append(rounds, one)

		if !one.opened() {
			break // the target is away for good: each further round would wait for its dials only
		}
	}

	return rounds
}
