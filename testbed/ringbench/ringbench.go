package ringbench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"skyring/ring"
)

// Options say what is measured. The zero value of each field is replaced by its default.
type Options struct {
	Candidates []Candidate // Ours
	Nodes      []int       // numbers of nodes, each at least 2: 16, 64 and 1,000
	Rounds     int         // timed rounds of look-ups: 25
	Builds     int         // timed builds: 5; slow ones are made once
	Lookups    int         // look-ups a round, each of another key: 32,768
	Keys       int         // keys counted where there are no slots: 1,048,576
	KeepRounds RoundsKept  // whether rows carry each round
}

// RoundsKept says whether the raw rounds stay in the rows.
type RoundsKept bool

// The values of RoundsKept.
const (
	Medians   RoundsKept = false
	AllRounds RoundsKept = true
)

// capacity is that of all nodes where they are equal.
const capacity = 1000

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Candidates == nil {
		o.Candidates = Ours()
	}

	if o.Nodes == nil {
		o.Nodes = []int{16, 64, 1000}
	}

	for _, d := range []struct {
		value    *int
		standard int
	}{{&o.Rounds, 25}, {&o.Builds, 5}, {&o.Lookups, 1 << 15}, {&o.Keys, 1 << 20}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}

	return o
}

// Validate reports every option that is out of its range.
func (o Options) Validate() error {
	var faults []error

	for _, n := range o.Nodes {
		if n < 2 || n > ring.MaxNodes/2 {
			faults = append(faults, fmt.Errorf("nodes: %d: want 2..%d", n, ring.MaxNodes/2))
		}
	}

	for _, d := range []struct {
		name  string
		value int
	}{{"rounds", o.Rounds}, {"builds", o.Builds}, {"look-ups a round", o.Lookups}, {"keys", o.Keys}} {
		if d.value < 0 {
			faults = append(faults, fmt.Errorf("%s: %d: want at least 1, or 0 for the default", d.name, d.value))
		}
	}

	return errors.Join(faults...)
}

// Run measures all candidates, ascending by the order of Nodes and then of Candidates. It ends early only with ctx, whose error it
// returns, or when a candidate cannot be made.
// What it times should be alone on its machine.
func Run(ctx context.Context, o Options) ([]Row, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("measure rings: %w", err)
	}

	o = o.withDefaults()

	sample := sync.OnceValue(func() []string { return keys(o.Keys) })

	var rows []Row

	for _, n := range o.Nodes {
		some, err := measure(ctx, o, n, sample)
		if err != nil {
			return nil, fmt.Errorf("measure rings of %d nodes: %w", n, err)
		}

		rows = append(rows, some...)
	}

	return rows, nil
}

// measure makes the rows of one number of nodes.
func measure(ctx context.Context, o Options, n int, sample func() []string) ([]Row, error) {
	rows := make([]Row, len(o.Candidates))
	tables := make([]Table, len(o.Candidates))

	for i, c := range o.Candidates {
		rows[i] = Row{Name: c.Name, Nodes: n}
	}

	if err := timeBuilds(ctx, o, rows, tables); err != nil {
		return nil, err
	}

	if err := timeLookups(ctx, o, rows, tables); err != nil {
		return nil, err
	}

	for i, c := range o.Candidates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		if err := spread(c, tables[i], sample, &rows[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}

	return rows, nil
}

// equalNodes returns n nodes of the same capacity.
func equalNodes(n int) []ring.Node {
	out := make([]ring.Node, n)
	for i := range out {
		out[i] = ring.Node{ID: fmt.Sprintf("processor-%d", i), Capacity: capacity}
	}

	return out
}
