package stations

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Result is what came of a run. Its JSON form is one line with exactly the fields below
// that have a name there.
type Result struct {
	// Stations is how many were played, LoggedOn how many of them the gateway confirmed.
	Stations int `json:"stations"`
	LoggedOn int `json:"loggedOn"`
	// Calls is how many were attempted, Completed how many of them connected and ended as
	// planned, Dropped how many ended after they had connected and before they were to.
	// The rest was never connected.
	Calls     int `json:"calls"`
	Completed int `json:"completed"`
	Dropped   int `json:"dropped"`
	// LeakedChannels is how many channels of the pools are held when no call is up.
	LeakedChannels int `json:"leakedChannels"`
	// StuckCalls is how many call records have not ended when no call is up.
	StuckCalls int `json:"stuckCalls"`
	// CDRs is how many call detail records were written; Lost is how many attempted calls have
	// none, Doubled how many records are over the first of their call.
	CDRs    int `json:"cdrs"`
	Lost    int `json:"lost"`
	Doubled int `json:"doubled"`
	// Setup is from CALL-SETUP to CALL-ALERT, Answer from CALL-CONNECT of the called station
	// to the one at the calling.
	Setup  Quantiles `json:"setup"`
	Answer Quantiles `json:"answer"`

	// Audited says that the state store was looked at; without that pools, call records and CDRs are not known.
	Audited bool `json:"-"`
	// KilledProcessor and AddedProcessor are the ids of processors that were killed and added; empty: none.
	KilledProcessor string `json:"-"`
	AddedProcessor  string `json:"-"`
	// UpAtKill is how many calls were connected when the processor was killed, KeptAtKill how
	// many of them ended as planned.
	UpAtKill   int `json:"-"`
	KeptAtKill int `json:"-"`
	// Elapsed is how long log-on and calls took.
	Elapsed time.Duration `json:"-"`
	// Failures are set-ups that failed and log-ons that were refused, counted by reason.
	Failures map[string]int `json:"-"`
}

// Quantiles are the median and the 99th percentile of a duration in seconds; 0 without values.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// quantilesOf sorts the durations.
func quantilesOf(durations []time.Duration) Quantiles {
	if len(durations) == 0 {
		return Quantiles{}
	}

	slices.Sort(durations)

	at := func(percent int) float64 {
		return durations[min(len(durations)*percent/100, len(durations)-1)].Seconds()
	}

	return Quantiles{P50: at(50), P99: at(99)}
}

// OK tells whether all stations logged on and every call ended as planned and left
// nothing behind but one CDR.
func (r *Result) OK() bool { return len(r.faults()) == 0 }

// faults are the reasons why the result is bad, as sentences.
func (r *Result) faults() []string {
	var faults []string

	bad := func(n int, text string) {
		if n != 0 {
			faults = append(faults, fmt.Sprintf("%d %s", n, text))
		}
	}

	bad(r.Stations-r.LoggedOn, "stations did not log on")
	bad(r.Dropped, "calls dropped")
	bad(r.Calls-r.Completed-r.Dropped, "calls not set up")
	bad(r.LeakedChannels, "channels leaked")
	bad(r.StuckCalls, "calls stuck")
	bad(r.Lost, "calls without CDR")
	bad(r.Doubled, "CDRs doubled")
	bad(r.UpAtKill-r.KeptAtKill, "calls did not outlive the killed processor")

	if r.Audited && r.CDRs != r.Calls {
		faults = append(faults, fmt.Sprintf("%d CDRs for %d calls", r.CDRs, r.Calls))
	}

	if r.Calls == 0 {
		faults = append(faults, "no call was made")
	}

	return faults
}

// WriteJSON writes the result as one line.
func (r *Result) WriteJSON(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}

	return nil
}

// Render writes the result for people: one fact a line, the judgement last.
func (r *Result) Render(w io.Writer) error {
	var b strings.Builder

	line(&b, "stations", "%d of %d logged on", r.LoggedOn, r.Stations)
	line(&b, "calls", "%d attempted, %d completed, %d dropped in %.1f s", r.Calls, r.Completed, r.Dropped, r.Elapsed.Seconds())
	line(&b, "set-up", "p50 %.3f s, p99 %.3f s (CALL-SETUP to CALL-ALERT)", r.Setup.P50, r.Setup.P99)
	line(&b, "answer", "p50 %.3f s, p99 %.3f s (CALL-CONNECT through)", r.Answer.P50, r.Answer.P99)
	r.renderAudit(&b)
	r.renderKill(&b)
	r.renderFailures(&b)

	if faults := r.faults(); len(faults) > 0 {
		line(&b, "verdict", "bad: %s", strings.Join(faults, ", "))
	} else if r.Audited {
		line(&b, "verdict", "good")
	} else {
		line(&b, "verdict", "good as far as stations saw; not audited")
	}

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}

	return nil
}

func (r *Result) renderAudit(b *strings.Builder) {
	if !r.Audited {
		line(b, "audit", "none: without --redis pools, call records and CDRs are not known")

		return
	}

	line(b, "left behind", "%d channels, %d calls", r.LeakedChannels, r.StuckCalls)
	line(b, "CDRs", "%d, lost %d, doubled %d", r.CDRs, r.Lost, r.Doubled)
}

func (r *Result) renderKill(b *strings.Builder) {
	if r.KilledProcessor != "" {
		line(b, "killed", "processor %s while %d calls were up, of which %d ended as planned", r.KilledProcessor, r.UpAtKill, r.KeptAtKill)
	}

	if r.AddedProcessor != "" {
		line(b, "added", "processor %s", r.AddedProcessor)
	}
}

func (r *Result) renderFailures(b *strings.Builder) {
	reasons := make([]string, 0, len(r.Failures))
	for reason := range r.Failures {
		reasons = append(reasons, reason)
	}

	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Failures[b], r.Failures[a]), cmp.Compare(a, b))
	})

	for _, reason := range reasons[:min(len(reasons), mostReasons)] {
		line(b, "failed", "%d x %s", r.Failures[reason], reason)
	}

	if more := len(reasons) - mostReasons; more > 0 {
		line(b, "failed", "... and for %d more reasons", more)
	}
}

// mostReasons is how many reasons are told, the most frequent ones.
const mostReasons = 12

// line writes one line: what it is about, in a column, and the fact.
func line(b *strings.Builder, about, format string, args ...any) {
	fmt.Fprintf(b, "%-12s ", about)
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}
