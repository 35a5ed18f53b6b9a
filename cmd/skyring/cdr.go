package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skyring/statestore"
)

// cdrWait is how long a look for new CDRs waits for one.
const cdrWait = 2 * time.Second

// cdrRetry is between two tries of an export that follows while Redis is away.
const cdrRetry = 500 * time.Millisecond

func cdrCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cdr",
		Short: "get call detail records out",
	}
	cmd.AddCommand(cdrExportCommand())

	return cmd
}

func cdrExportCommand() *cobra.Command {
	var (
		options cdrOptions
		reader  sessionOptions
	)

	cmd := &cobra.Command{
		Use:   "export",
		Short: "write call detail records, and say which are missing",
		Long: `Writes the call detail records of all partitions to standard output, by the millisecond in which they were
written: with --format jsonl an object a line, with --format csv a header and a row each. docs/stations.md
lists the fields.

Each partition numbers its records 1, 2, 3 and so on. Where numbers are missing, standard error says which,
and the exit code is 1; likewise for numbers that were given before, which means that Redis lost writes. From
--from TIME on, the first record of a partition sets the count.

With --position FILE it goes on where the last export with that file ended, and writes down how far it came
whenever what it wrote has gone out. With --follow it waits for new records until it is interrupted;
while Redis is away it tries again.` + runningHelp,
		Example: `  skyring cdr export --format csv > calls.csv
  skyring cdr export --from 2026-03-01T00:00:00Z
  skyring cdr export --follow --position /var/lib/skyring/cdr.position`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.validate(); err != nil {
				return err
			}

			return reader.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				return options.export(ctx, store, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	reader.settings.register(cmd)
	flags := cmd.Flags()
	redisFlag(cmd, &reader.redisURL)
	flags.BoolVar(&options.follow, "follow", false, "wait for new records until interrupted")
	flags.StringVar(&options.from, "from", "", "leave out what was written before: a time such as 2026-03-01T00:00:00Z, or a duration back such as 24h")
	flags.StringVar(&options.position, "position", "", "file that keeps how far the export came")
	flags.StringVar(&options.format, "format", "jsonl", "jsonl or csv")
	endsOnHangup(cmd)

	return cmd
}

// cdrOptions are the flags of 'skyring cdr export'.
type cdrOptions struct {
	follow   bool
	from     string
	position string
	format   string
}

func (o *cdrOptions) validate() error {
	if o.format != "jsonl" && o.format != "csv" {
		return usagef("--format is %q: it must be jsonl or csv", o.format)
	}

	if o.from != "" && o.position != "" {
		return usagef("--from and --position both say where to begin: one of them is right")
	}

	return nil
}

// start is the time of --from; ok says that there is one.
func (o *cdrOptions) start() (at time.Time, ok bool, err error) {
	if o.from == "" {
		return time.Time{}, false, nil
	}

	if back, err := time.ParseDuration(o.from); err == nil && back >= 0 {
		return time.Now().Add(-back), true, nil
	}

	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, o.from); err == nil {
			return at, true, nil
		}
	}

	return time.Time{}, false, usagef("--from is %q: a time such as 2026-03-01T00:00:00Z or 2026-03-01, or a duration back such as 24h, is right", o.from)
}

// cdrExport is one run of an export.
type cdrExport struct {
	// static
	store  *statestore.Store
	out    *bufio.Writer
	format cdrFormat
	stderr io.Writer
	file   string // of the position; empty: none

	position cdrPosition
	waiting  []statestore.CDR // read, and not written yet
	missing  uint64           // records that gaps swallowed
	again    uint64           // numbers that were given twice
	moved    bool             // the position, by more than what was written
}

func (o *cdrOptions) export(ctx context.Context, store *statestore.Store, stdout, stderr io.Writer) error {
	e := &cdrExport{store: store, out: bufio.NewWriter(stdout), stderr: stderr, file: o.position, position: cdrPosition{}}

	at, since, err := o.start()
	if err != nil {
		return err
	}

	if since {
		e.position.begin(store.Partitions(), at)
	}

	if o.position != "" {
		if err := e.position.read(o.position); err != nil {
			return err
		}
	}

	if e.format, err = newCDRFormat(o.format, e.out); err != nil {
		return err
	}

	err = e.run(ctx, o.follow)
	if _, ofStore := errors.AsType[*storeError](err); ctx.Err() != nil && ofStore || errors.Is(err, context.Canceled) {
		err = nil // interrupted: that is how --follow ends, also while Redis is away
	}

	return errors.Join(err, e.verdict())
}

// verdict is what is wrong with the numbers of all records together.
func (e *cdrExport) verdict() error {
	var faults []error

	if e.missing > 0 {
		faults = append(faults, fmt.Errorf("%d call detail records are missing", e.missing))
	}

	if e.again > 0 {
		faults = append(faults, fmt.Errorf("%d numbers of call detail records are given twice: Redis lost writes", e.again))
	}

	return errors.Join(faults...)
}

// run writes all there is, and what comes then if it is to follow.
func (e *cdrExport) run(ctx context.Context, follow bool) error {
	if !follow {
		return e.drain(ctx, 0)
	}

	away := false

	for {
		err := e.drain(ctx, 0)
		if err == nil && away {
			away = false

			e.tell("Redis answers again, the export goes on where it was")
		}

		if err == nil {
			err = e.drain(ctx, cdrWait)
		}

		if err == nil {
			continue
		}

		if !passes(ctx, err) {
			return err
		}

		if !away {
			away = true

			e.tell("the export waits for Redis: %v", err)
		}

		if err := pause(ctx, cdrRetry); err != nil {
			return err
		}
	}
}

// storeError is one of the store, which may be back later.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// passes tells that an error may pass by itself: Redis is away, nobody interrupted, and nothing is damaged.
func passes(ctx context.Context, err error) bool {
	_, ofStore := errors.AsType[*storeError](err)

	return ofStore && ctx.Err() == nil && !errors.Is(err, statestore.ErrCorrupt)
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (e *cdrExport) tell(format string, values ...any) {
	fmt.Fprintf(e.stderr, "skyring: "+format+"\n", values...) //nolint:errcheck // the exit code tells what matters, too
}

// drain writes all records that there are; with a wait it only reads the next ones.
func (e *cdrExport) drain(ctx context.Context, wait time.Duration) error {
	for {
		cdrs, err := e.store.CDRs(ctx, e.position.ids(), wait)
		if err != nil {
			return &storeError{err}
		}

		e.waiting = append(e.waiting, cdrs...)
		e.note(cdrs)

		switch {
		case wait > 0: // there may be more by now
			return nil
		case len(cdrs) == 0:
			return errors.Join(e.compare(ctx), e.flush(""))
		}

		if err := e.flush(bound(cdrs)); err != nil {
			return err
		}
	}
}

// bound is up to where nothing earlier can come any more: the earliest of the last records of
// all partitions that were read, each of which may have more.
func bound(cdrs []statestore.CDR) string {
	last := map[int]string{}
	for _, c := range cdrs {
		last[c.Partition] = c.ID
	}

	lowest := ""

	for _, id := range last {
		if lowest == "" || compareIDs(id, lowest) < 0 {
			lowest = id
		}
	}

	return lowest
}

// note moves the position and tells of gaps, and of numbers that were given before.
func (e *cdrExport) note(cdrs []statestore.CDR) {
	for _, c := range cdrs {
		if d, wrong := e.position.advance(c); wrong {
			e.report(c.Partition, d)
		}
	}
}

// compare tells which of the newest records are missing: partitions counted them.
func (e *cdrExport) compare(ctx context.Context) error {
	counts, err := e.store.CDRCounts(ctx)
	if err != nil {
		return &storeError{err}
	}

	for partition, c := range counts {
		if d, wrong := e.position.compare(partition, c); wrong {
			e.report(partition, d)
			e.moved = true
		}
	}

	return nil
}

func (e *cdrExport) report(partition int, d deviation) {
	n := d.to - d.from + 1

	if d.back {
		e.again += n
		e.tell("partition %d: the numbers %d to %d of call detail records are given again: Redis lost writes", partition, d.from, d.to)

		return
	}

	e.missing += n
	e.tell("partition %d: call detail records %d to %d are missing", partition, d.from, d.to)
}

// flush writes what waits, up to an ID, or all of it, and then the position.
func (e *cdrExport) flush(until string) error {
	slices.SortStableFunc(e.waiting, func(a, b statestore.CDR) int {
		return cmp.Or(compareIDs(a.ID, b.ID), cmp.Compare(a.Partition, b.Partition))
	})

	n := len(e.waiting)
	if until != "" {
		n = 0
		for n < len(e.waiting) && compareIDs(e.waiting[n].ID, until) <= 0 {
			n++
		}
	}

	for _, c := range e.waiting[:n] {
		if err := e.format.write(c); err != nil {
			return err
		}
	}

	if err := e.format.flush(); err != nil {
		return err
	}

	if err := e.out.Flush(); err != nil {
		return fmt.Errorf("write call detail records: %w", err)
	}

	e.waiting = slices.Delete(e.waiting, 0, n)

	if e.file == "" || n == 0 && !e.moved || len(e.waiting) > 0 { // what still waits is not behind the position
		return nil
	}

	e.moved = false

	return e.position.write(e.file)
}

// compareIDs compares two IDs of Redis streams, milliseconds and a number.
func compareIDs(a, b string) int {
	aTime, aNumber := splitID(a)
	bTime, bNumber := splitID(b)

	return cmp.Or(cmp.Compare(aTime, bTime), cmp.Compare(aNumber, bNumber))
}

func splitID(id string) (ms, number uint64) {
	left, right, _ := strings.Cut(id, "-")
	ms, _ = strconv.ParseUint(left, 10, 64)      // Redis made it
	number, _ = strconv.ParseUint(right, 10, 64) // likewise

	return ms, number
}
