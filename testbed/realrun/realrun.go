package realrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"skyring/testbed/simulate"
)

const (
	idleMessages = 200                   // that the idle way is measured with
	idleGap      = 20 * time.Millisecond // between two of them, at most
	idleStations = 16                    // that send them: rings send them to several nodes
	longRun      = 100_000               // messages simulated for a share on the same node: its standard deviation is 0.0014
)

// Run runs all rounds: seed by seed, and under each all policies side by side, as they have next to nothing to compute, and so meet the machine in the same mood. It ends
// early, with ctx's error, when ctx does. Errors of a faulty Config name every fault; any message that is not answered, or had no effect, or two, is an error.
func Run(ctx context.Context, c Config, log zerolog.Logger) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, err
	}

	result := Result{Config: c}

	for seed := uint64(1); seed <= uint64(c.Seeds); seed++ { //nolint:gosec // over 0
		began := time.Now()

		rounds, err := c.seed(ctx, seed, log)
		if err != nil {
			return Result{}, err
		}

		result.Rounds = append(result.Rounds, rounds...)
		log.Info().Uint64("seed", seed).Int("of", c.Seeds).Stringer("took", time.Since(began).Round(time.Second)).Msg("real run: a seed is done")
	}

	return result, nil
}

// seed runs all policies under a seed. The first that fails ends the others.
func (c Config) seed(ctx context.Context, seed uint64, log zerolog.Logger) ([]Round, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	rounds := make([]Round, len(c.Policies))

	var running sync.WaitGroup

	for i, p := range c.Policies {
		running.Go(func() {
			r, err := c.round(ctx, p, seed, log)
			if err != nil {
				fail(fmt.Errorf("real run of %s, seed %d: %w", p, seed, err))
			}

			rounds[i] = r
		})
	}

	running.Wait()

	return rounds, context.Cause(ctx)
}

// round runs a policy under a seed, and simulates it with the idle way that was measured.
func (c Config) round(ctx context.Context, policy string, seed uint64, log zerolog.Logger) (Round, error) {
	load, err := c.load(policy, seed)
	if err != nil {
		return Round{}, err
	}

	r := Round{Policy: policy, Seed: seed, MachineLoad: machineLoad(), nodes: len(load.Nodes), load: load.Arrivals.Rate / load.Capacity()}

	if err := r.play(ctx, c, load, log); err != nil {
		return Round{}, err
	}

	load.Hop = r.Way / 2

	return r, r.simulate(ctx, load)
}

// simulate fills in the figures of a simulation of the same messages, but for the share on the same node: that is of a longer run, as it says little of a few thousand
// messages, and the same messages do not make it the same.
func (r *Round) simulate(ctx context.Context, load simulate.Config) error {
	load.MovedSample = 1

	s, err := simulate.Run(ctx, load)
	if err != nil {
		return err
	}

	r.Simulated = figuresOf(s)

	seconds := longRun / load.Arrivals.Rate
	load.Duration = load.Warmup + time.Duration(seconds*1e9)

	if s, err = simulate.Run(ctx, load); err != nil {
		return err
	}

	r.Simulated.SameNode, r.SimulatedOverlapping, r.SimulatedAlone = s.SameNode, s.Overlapping, s.SameNodeAlone

	return nil
}

// play fills in what is measured.
func (r *Round) play(ctx context.Context, c Config, load simulate.Config, log zerolog.Logger) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	in, err := open(ctx, load, filepath.Join(c.Dir, fmt.Sprintf("%s-%d", r.Policy, r.Seed)), fail, log)
	defer func() { err = errors.Join(err, in.close()) }()

	if err != nil {
		return err
	}

	g := &generator{links: in.links, spacing: max(1, load.Stations.Spacing)}
	if c.MostUnanswered > 0 {
		g.board.places = make(chan struct{}, c.MostUnanswered)
	}

	g.listen(ctx, in)

	messages := slices.Collect(simulate.Messages(load))
	if len(messages) == 0 {
		return errors.New("no message comes: want more messages")
	}

	p, err := g.play(ctx, messages)
	if err != nil {
		return err
	}

	if err := p.conserved(len(load.Nodes)); err != nil {
		return err
	}

	r.Messages, r.Late, r.Stall = len(messages), p.late, p.stall
	r.Real = p.tally(load)
	r.Overlapping, r.SameNodeAlone = p.alone(load)
	r.inspect(in)

	if c.MostUnanswered > 0 {
		return nil
	}

	r.Way, err = g.way(ctx, load)

	return err
}

// inspect takes over what the parts know of the run.
func (r *Round) inspect(in *installation) {
	var all labour

	for _, n := range in.nodes {
		l := n.done()
		all.asked += l.asked
		all.took += l.took
		all.again += l.again
	}

	r.Overrun = all.took.Seconds()/max(all.asked.Seconds(), 1e-9) - 1
	r.Again = all.again

	s := in.dispatcher.Stats()
	r.OffHome = float64(s.Picks["bound"]) / max(float64(s.Submitted), 1)
	r.Resent = s.Probes

	for _, n := range s.Resent {
		r.Resent += n
	}
}

// way is the median response of messages without work, of other stations, on nodes that have nothing else to do. A mean would tell of the machine's stalls.
func (g *generator) way(ctx context.Context, load simulate.Config) (time.Duration, error) {
	messages := make([]simulate.Message, idleMessages)
	gap := min(idleGap, 2*load.Service.Mean)

	for i := range messages {
		messages[i] = simulate.Message{
			At:      time.Duration(i) * gap,
			Station: uint64(load.Stations.Count+1+i%idleStations) * g.spacing, //nolint:gosec // not negative
		}
	}

	p, err := g.play(ctx, messages)
	if err != nil {
		return 0, fmt.Errorf("idle way: %w", err)
	}

	responses := make([]float64, len(messages))
	for i := range messages {
		responses[i] = float64(p.response(i))
	}

	return time.Duration(percentile(responses, 0.5)), nil
}
