package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"skyring/testbed/simulate"
)

// DefaultSeeds is how many runs each row is made of unless it is said.
const DefaultSeeds = 10

// maxSeeds bounds a comparison.
const maxSeeds = 10_000

// scaledSample is simulate.Config.MovedSample at scale 1: over ten seeds a share of 1/16 is then known within 0.3 %.
const scaledSample = 400_000

// Description is a scenario as it is listed.
type Description struct {
	Name    string `json:"name"`
	Summary string `json:"summary"` // the load, in a line
	Source  string `json:"source"`  // whose claims it holds
}

// scenario is a load for several policies, and what is said of them.
type scenario struct {
	Description

	points func() []point
	claims func() []claim
}

// point is one row to be made.
type point struct {
	at

	config simulate.Config // its Policy, Seed and PickCost are filled in
}

// Settings are how a scenario is run.
type Settings struct {
	Seeds    int     // at least 2, as an interval needs them; 0: DefaultSeeds
	PickCost float64 // nanoseconds of a pick, for results that do not depend on the machine; 0: as measured; less: none
	Scale    float64 // on the simulated time of each run, for a quick look; 0: 1
}

// Progress is how far a comparison is: runs that have ended, of all.
type Progress func(done, total int)

// List describes all scenarios.
func List() []Description {
	all := scenarios()
	out := make([]Description, len(all))

	for i, s := range all {
		out[i] = s.Description
	}

	return out
}

// Config is what is simulated of a scenario for a policy under a seed, at the first point that has the policy, without the cost of picks: with simulate.Messages, what a
// real run needs to be compared with a simulated one. Errors: an unknown name, a policy that is not in the scenario.
func Config(name, policy string, seed uint64) (simulate.Config, error) {
	s, err := find(name)
	if err != nil {
		return simulate.Config{}, fmt.Errorf("compare: %w", err)
	}

	for _, p := range s.points() {
		if p.policy == policy {
			p.config.Policy, p.config.Seed = policy, seed

			return p.config, nil
		}
	}

	return simulate.Config{}, fmt.Errorf("compare: scenario %s has no policy %q", name, policy)
}

// RunWith runs a scenario, two or more runs at a time; progress may be nil and is called from one goroutine at a time.
// Errors: an unknown name, settings out of range, the end of ctx, and those of simulate.Run.
func RunWith(ctx context.Context, name string, s Settings, progress Progress) (Report, error) {
	s, err := s.complete()
	if err != nil {
		return Report{}, fmt.Errorf("compare: %w", err)
	}

	chosen, err := find(name)
	if err != nil {
		return Report{}, fmt.Errorf("compare: %w", err)
	}

	points := chosen.points()
	rows := make([]Row, len(points))

	for i := range points {
		p := &points[i]
		p.config.Policy = p.policy
		p.config.Duration = scaled(p.config.Duration, s.Scale)
		p.config.Warmup = scaled(p.config.Warmup, s.Scale)
		p.config.MovedSample = int(1 + scaledSample*min(1, s.Scale))
		scaleEvents(&p.config, s.Scale)

		rows[i] = Row{Policy: p.policy, Nodes: p.nodes, Load: p.load, Variant: p.variant, samples: make([]Figures, s.Seeds)}

		if p.config.PickCost, err = cost(ctx, p.config, s.PickCost); err != nil {
			return Report{}, fmt.Errorf("compare %s, %s at %s: %w", name, p.policy, p.where(), err)
		}

		rows[i].PickNs = p.config.PickCost
	}

	if err := runAll(ctx, points, rows, progress); err != nil {
		return Report{}, fmt.Errorf("compare %s: %w", name, err)
	}

	return judged(chosen, points, rows, s.Seeds), nil
}

func (s Settings) complete() (Settings, error) {
	if s.Seeds == 0 {
		s.Seeds = DefaultSeeds
	}

	if s.Scale == 0 {
		s.Scale = 1
	}

	var faults []error

	if s.Seeds < 2 || s.Seeds > maxSeeds {
		faults = append(faults, fmt.Errorf("seeds: %d: an interval needs 2..%d", s.Seeds, maxSeeds))
	}

	if !(s.Scale > 0 && s.Scale <= 100) {
		faults = append(faults, fmt.Errorf("scale %v: want more than 0, at most 100", s.Scale))
	}

	return s, errors.Join(faults...)
}

func find(name string) (scenario, error) {
	var names []string

	for _, s := range scenarios() {
		if s.Name == name {
			return s, nil
		}

		names = append(names, s.Name)
	}

	return scenario{}, fmt.Errorf("%q is no scenario: %s are", name, strings.Join(names, ", "))
}

func cost(ctx context.Context, c simulate.Config, fixed float64) (float64, error) {
	if fixed != 0 {
		return max(0, fixed), nil
	}

	return simulate.MeasurePick(ctx, c)
}

// runAll makes the samples of all rows, as many runs at a time as there are processors. The first error ends it.
func runAll(ctx context.Context, points []point, rows []Row, progress Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	type run struct{ point, seed int }

	var (
		runs    = make(chan run) // unbuffered: a run waits for a free worker
		workers sync.WaitGroup
		mu      sync.Mutex
		done    int // guarded by mu, which also makes calls of progress take turns
	)

	total := len(points) * len(rows[0].samples)

	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for r := range runs {
				c := points[r.point].config
				c.Seed = uint64(r.seed + 1)

				result, err := simulate.Run(ctx, c)
				if err != nil {
					cancel(fmt.Errorf("%s at %s, seed %d: %w", c.Policy, points[r.point].where(), c.Seed, err))

					continue
				}

				rows[r.point].samples[r.seed] = figuresOf(result)

				mu.Lock()
				if done++; progress != nil {
					progress(done, total)
				}
				mu.Unlock()
			}
		})
	}

	for i := range total {
		select {
		case runs <- run{point: i % len(points), seed: i / len(points)}:
		case <-ctx.Done():
		}
	}

	close(runs)
	workers.Wait()

	return context.Cause(ctx)
}

// judged is the report of rows whose samples are there.
func judged(s scenario, points []point, rows []Row, seeds int) Report {
	t := make(table, len(rows))

	for i := range rows {
		rows[i].summarise()
		t[points[i].at] = &rows[i]
	}

	report := Report{Scenario: s.Description, Seeds: seeds, Claims: []Finding{}}

	for i := range rows {
		rows[i].Claims = []Finding{}
	}

	for _, c := range s.claims() {
		verdict, why := c.judge(t)
		f := Finding{Claim: c.text, Verdict: verdict, Why: why}
		report.Claims = append(report.Claims, f)

		for i := range rows {
			for _, p := range c.policies {
				if rows[i].Policy == p {
					rows[i].Claims = append(rows[i].Claims, f)
				}
			}
		}
	}

	report.Rows = rows

	return report
}
