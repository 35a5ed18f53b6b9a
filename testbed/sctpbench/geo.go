package sctpbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"skyring/testbed/link"
	"skyring/testbed/link/echo"
)

// LinkOptions say what RunLink measures. The zero value of each field is replaced by its default.
type LinkOptions struct {
	Rounds   int           // one after another, each with losses of its own: 3
	Duration time.Duration // for which messages are sent: 20 s
	Delay    time.Duration // of the link, each way: 300 ms
}

// LinkRow is what was measured over a bad link.
type LinkRow struct {
	Name              string  `json:"name"`
	Loss              float64 `json:"loss"` // share of packets, each way
	Associations      int     `json:"associations"`
	MessagesPerSecond float64 `json:"messagesPerSecond"` // of an association
	P50               float64 `json:"p50"`               // seconds from when a message was due to its echo; medians of rounds
	P99               float64 `json:"p99"`
	Figure            float64 `json:"figure"` // what P99 may be
	Messages          int     `json:"messages"`
	Lost              uint64  `json:"lost"` // packets
	Late              float64 `json:"late"` // seconds that the emulator was late by, at most: the machine's doing

	Rounds []LinkRound `json:"rounds,omitempty"`
}

// LinkRound are the raw figures of a round.
type LinkRound struct {
	Seed uint64  `json:"seed"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// linkFigures are what 99 of 100 messages may take over a round trip of 600 ms.
func linkFigures() []LinkRow {
	return []LinkRow{{Loss: 0, Figure: 0.61}, {Loss: 0.01, Figure: 1.4}, {Loss: 0.05, Figure: 3.5}}
}

const (
	maxLinkRounds = 100
	maxLate       = 10 * time.Millisecond // of the emulator; when it is later, times are the machine's rather than SCTP's
)

// Validate names all faults at once.
func (o LinkOptions) Validate() error {
	var faults []error
	if o.Rounds < 0 || o.Rounds > maxLinkRounds {
		faults = append(faults, fmt.Errorf("rounds over a link: %d: 1 to %d is right", o.Rounds, maxLinkRounds))
	}
	if o.Duration < 0 || o.Delay < 0 {
		faults = append(faults, errors.New("times of a link: none may be negative"))
	}
	return errors.Join(faults...)
}

// RunLink echoes 20 messages a second on each of ten associations of protocol/transport through a link of 600 ms round trip
// that loses none, 1 and 5 % of all packets, all three at once: they wait nearly all the time.
func RunLink(ctx context.Context, o LinkOptions) ([]LinkRow, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("measure a link: %w", err)
	}
	cfg := echo.DefaultConfig()
	rounds := 3
	if o.Rounds > 0 {
		rounds = o.Rounds
	}
	if o.Duration > 0 {
		cfg.Duration = o.Duration
	}
	if o.Delay > 0 {
		cfg.Link.Delay = o.Delay
	}
	rows := linkFigures()
	for n := range rounds {
		cfg.Seed = uint64(n + 1)
		if err := addRound(ctx, cfg, rows); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		row := &rows[i]
		row.Name, row.Associations, row.MessagesPerSecond = Skyring+"-link", cfg.Associations, cfg.Rate
		row.P50 = medianOf(row.Rounds, func(r LinkRound) float64 { return r.P50 })
		row.P99 = medianOf(row.Rounds, func(r LinkRound) float64 { return r.P99 })
	}
	return rows, nil
}

// addRound measures the losses of all rows at once.
func addRound(ctx context.Context, cfg echo.Config, rows []LinkRow) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for i := range rows {
		one := cfg
		one.Link.Loss = rows[i].Loss
		running.Go(func() {
			result, err := echo.Run(ctx, one, zerolog.Nop())
			if err != nil {
				cancel(fmt.Errorf("a link that loses %v: %w", one.Link.Loss, err)) // the first one counts
				return
			}
			rows[i].add(one.Seed, result)
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

func (r *LinkRow) add(seed uint64, result *echo.Result) {
	r.Rounds = append(r.Rounds, LinkRound{Seed: seed, P50: result.At(0.5).Seconds(), P99: result.At(0.99).Seconds()})
	r.Messages += result.Echoed
	for _, way := range result.Link.Ways {
		r.Lost += way.Dropped(link.Lost)
	}
	r.Late = max(r.Late, result.Link.Lag.Seconds())
}

// verdict says how a row compares with its figure.
func (r *LinkRow) verdict() string {
	agree := 0
	for _, round := range r.Rounds {
		if round.P99 <= r.Figure {
			agree++
		}
	}
	word := "reached"
	if r.P99 > r.Figure {
		word = "NOT reached"
	}
	return fmt.Sprintf("%s; %d of %d rounds", word, agree, len(r.Rounds))
}

// LinkText writes rows for people.
func LinkText(w io.Writer, rows []LinkRow) error {
	var b strings.Builder
	b.WriteString("loss %\tmessages\tpackets lost\tp50 s\tp99 s\tmay be\t\temulator late by s\t\n")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(&b, "%v\t%d\t%d\t%.3f\t%.3f\t%.2f\t%s\t%.3f\t\n", 100*r.Loss, r.Messages, r.Lost, r.P50, r.P99, r.Figure, r.verdict(), r.Late)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, err := io.WriteString(t, b.String())
	err = errors.Join(err, t.Flush())
	if slices.ContainsFunc(rows, func(r LinkRow) bool { return r.Late > maxLate.Seconds() }) {
		_, failed := io.WriteString(w, "\nthe emulator was late: the machine had no time for it, which is in the times; measure again when it is quiet\n")
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}
