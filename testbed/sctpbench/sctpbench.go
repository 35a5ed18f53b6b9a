package sctpbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Options say what is measured. The zero value of each field but Only and Progress is replaced by its default.
type Options struct {
	Rounds   int           // of each contestant under each load: 5
	Duration time.Duration // that a round takes, without its warm-up: 400 ms
	Only     []string      // contestants, see Names; empty: all
	Loads    []Load        // Loads
	Progress Progress      // is told of each round; may be nil
}

// Progress is told how many of all rounds are done.
type Progress func(done, total int)

// Load is how many associations echo at once, and how many messages of each are under way.
type Load struct {
	Associations int `json:"associations"`
	Window       int `json:"window"`
}

// Loads are those that docs/benchmarks.md has: a single message under way, for its round trip; one busy association;
// a hundred.
func Loads() []Load { return []Load{{1, 1}, {1, 64}, {100, 8}} }

// Limits of the options.
const (
	MaxRounds   = 1000
	MaxDuration = time.Minute

	maxAssociations = 1000
	maxWindow       = 256 // more would not fit the receive buffers of UDP
)

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	if o.Duration == 0 {
		o.Duration = 400 * time.Millisecond
	}
	if o.Loads == nil {
		o.Loads = Loads()
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	return o
}

// Validate names all faults at once.
func (o Options) Validate() error {
	var faults []error
	if o.Rounds < 0 || o.Rounds > MaxRounds {
		faults = append(faults, fmt.Errorf("rounds: %d: 1 to %d is right", o.Rounds, MaxRounds))
	}
	if o.Duration < 0 || o.Duration > MaxDuration {
		faults = append(faults, fmt.Errorf("seconds a round: %v: more than 0, and at most %v, is right", o.Duration.Seconds(), MaxDuration.Seconds()))
	}
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			faults = append(faults, fmt.Errorf("only: %q: %s are right", name, strings.Join(Names(), ", ")))
		}
	}
	for _, l := range o.Loads {
		if l.Associations < 1 || l.Associations > maxAssociations || l.Window < 1 || l.Window > maxWindow {
			faults = append(faults, fmt.Errorf("load of %d associations with window %d: 1 to %d, and 1 to %d, are right",
				l.Associations, l.Window, maxAssociations, maxWindow))
		}
	}
	return errors.Join(faults...)
}

// ErrNothing is what errors.Is finds when none of the wanted contestants can be had on this machine.
var ErrNothing = errors.New("nothing to measure")

// heapFloor is in bytes. Without it the collector runs every 4 MB for one whose heap is small, and half as often for one
// that has large buffers: nothing that a process which serves stations would see.
const heapFloor = 32 << 20

// Run measures, ordered by load and then as Names. It should be alone on its machine. The error is ctx's, or says which contestant failed,
// and how; there is no report then.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("measure SCTP: %w", err)
	}
	o = o.withDefaults()
	dir, err := os.MkdirTemp("", "skyring-sctpbench-")
	if err != nil {
		return nil, fmt.Errorf("measure SCTP: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	ballast := make([]byte, heapFloor)
	defer runtime.KeepAlive(ballast)

	report = &Report{}
	field, err := prepare(ctx, o.Only, dir, report)
	if err != nil {
		return nil, err
	}
	report.Before = loadAverage()
	total, done := len(o.Loads)*o.Rounds*len(field), 0
	for _, load := range o.Loads {
		rows, err := measure(ctx, o, load, field, func() { done++; o.Progress(done, total) })
		if err != nil {
			return nil, err
		}
		report.Rows = append(report.Rows, rows...)
	}
	report.After = loadAverage()
	return report, nil
}

// prepare makes the contestants that are wanted and can be had; the report gets why the others cannot.
func prepare(ctx context.Context, only []string, dir string, report *Report) ([]contestant, error) {
	var field []contestant
	for _, c := range contestants() {
		if len(only) > 0 && !slices.Contains(only, c.name) {
			continue
		}
		open, err := c.prepare(ctx, dir)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			report.LeftOut = append(report.LeftOut, fmt.Sprintf("%s is left out: %s", c.name, err))
		default:
			c.open = open
			field = append(field, c)
		}
	}
	if len(field) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNothing, strings.Join(report.LeftOut, "; "))
	}
	return field, nil
}

// measure makes the rows of one load.
func measure(ctx context.Context, o Options, load Load, field []contestant, done func()) ([]Row, error) {
	rows := make([]Row, len(field))
	for i, c := range field {
		rows[i] = Row{Name: c.name, Load: load}
	}
	for n := range o.Rounds {
		for i := range field {
			i = (i + n) % len(field) // nobody always follows the same
			round, err := field[i].round(ctx, load, o.Duration)
			if ctx.Err() != nil {
				return nil, ctx.Err() // whatever came of it
			}
			if err != nil {
				return nil, fmt.Errorf("%s with %d associations: %w", field[i].name, load.Associations, err)
			}
			rows[i].Rounds = append(rows[i].Rounds, round)
			done()
		}
	}
	for i := range rows {
		rows[i].summarise()
	}
	return rows, nil
}
