package calibrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor"
	"skyring/processor/essp"
	"skyring/processor/ledger"
	"skyring/processor/load"
	"skyring/protocol/bus"
	"skyring/statestore"
)

// Config is what is measured, and for how long.
type Config struct {
	Processor processor.Config // with id and namespace; the namespace is used for nothing else
	ESSP      essp.Config

	Target   time.Duration // 99 of 100 answers take no longer
	Limit    time.Duration // of all rounds together
	Sessions int           // of the ledger
	Stations int           // that are logged on
}

// DefaultConfig lacks the processor.
func DefaultConfig() Config {
	return Config{ESSP: essp.DefaultConfig(), Target: 100 * time.Millisecond, Limit: 20 * time.Second, Sessions: 4096, Stations: 512}
}

// Bounds of what may be asked for.
const (
	shortestLimit  = 4 * time.Second // a round of it is as long as the load needs to be measured
	longestLimit   = 10 * time.Minute
	shortestTarget = time.Millisecond
	longestTarget  = 10 * time.Second
	mostSessions   = 1 << 20
)

// Validate reports every fault at once, as sentences about what was asked for.
func (c Config) Validate() error {
	var faults []error
	if c.Limit < shortestLimit || c.Limit > longestLimit {
		faults = append(faults, fmt.Errorf("%v is no time to calibrate in: %v to %v is right", c.Limit, shortestLimit, longestLimit))
	}
	if c.Target < shortestTarget || c.Target > longestTarget {
		faults = append(faults, fmt.Errorf("%v is no response target: %v to %v is right", c.Target, shortestTarget, longestTarget))
	}
	if c.Sessions < 1 || c.Sessions > mostSessions || c.Stations < 1 || c.Stations > mostSessions {
		faults = append(faults, fmt.Errorf("%d sessions and %d stations: 1 to %d of each is right", c.Sessions, c.Stations, mostSessions))
	}
	return errors.Join(faults...)
}

// Result is what was found.
type Result struct {
	Capacity  uint32        // messages a second, three digits of it; 0: not even the lowest load was answered in time
	P99       time.Duration // of the round that shows it
	Confirmed bool          // a longer round held it; else the time was over before
	Limit     Limit         // what was in the way of more
	Rounds    []Round       // in order
}

// Run measures over two connections to the same NATS server, which nothing else uses. It tells of each round when it is over. It ends after Limit, the
// time to log stations on and to drain not counted, with all goroutines that it started.
func Run(ctx context.Context, cfg Config, store *statestore.Store, node, generator *bus.Conn, log zerolog.Logger, tell func(Round)) (result Result, err error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, fmt.Errorf("calibrate: %w", err)
	}
	handlers, err := essp.Handlers(ctx, cfg.ESSP, store, processor.NewHandlers(ledger.Handler{}))
	if err != nil {
		return Result{}, err //nolint:wrapcheck // it says what was done
	}
	p, err := processor.New(cfg.Processor, store, node, handlers, log)
	if err != nil {
		return Result{}, err //nolint:wrapcheck // it says what was done
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()

	g, err := newGenerator(cfg, generator)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.prepare(ctx, store, p.Ready); err != nil {
		return Result{}, fmt.Errorf("calibrate: %w", err)
	}
	sampler, loadErr := load.New("/")
	if loadErr != nil {
		log.Warn().Err(loadErr).Msg("what limits the node may stay unknown")
	}
	r := rounds{generator: g, sampler: sampler, store: store, target: cfg.Target}
	return r.run(ctx, cfg.Limit, tell)
}
