package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"skyring/testbed/trace"
)

// Render writes the verdict for people: one fact a line, the judgement last.
func (v *Verdict) Render(w io.Writer) error {
	var b strings.Builder

	line(&b, "sent", "%s over %s, %s", plural(v.Sent, "message"), plural(v.Associations, "association"), plural(v.Sessions, "session"))
	v.renderAcknowledged(&b)
	line(&b, "faults", "lost %d, doubled %d, out of order %d", v.Lost, v.Doubled, v.OutOfOrder)
	v.renderOddities(&b)
	v.renderPPIDs(&b)
	v.renderLatency(&b)
	v.renderNodes(&b)
	v.renderLedger(&b)
	v.renderLines(&b)
	line(&b, "verdict", "%s", v.judgement())

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}

	return nil
}

// line writes one line: what it is about, in a column that fits the longest PPID, and
// the fact.
func line(b *strings.Builder, about, format string, args ...any) {
	fmt.Fprintf(b, "%-16s ", about)
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

func (v *Verdict) renderAcknowledged(b *strings.Builder) {
	rate := ""
	if v.MessagesPerSecond != nil {
		rate = fmt.Sprintf(", %.0f messages/s", *v.MessagesPerSecond)
	}

	line(b, "acknowledged", "%d in %.3f s%s", v.Acknowledged, v.Seconds, rate)
}

func (v *Verdict) renderOddities(b *strings.Builder) {
	for _, o := range []struct {
		count uint64
		text  string
	}{
		{v.Unsent, "were not sent"},
		{v.Unanswered, "unanswered: what became of them is not known"},
		{v.Quarantined, "set aside by the target, which fails on them"},
		{v.Unexpected, "receipts that match no message"},
		{v.Replies, "other messages came from the target"},
	} {
		if o.count > 0 {
			line(b, "", "%d %s", o.count, o.text)
		}
	}
}

func (v *Verdict) renderPPIDs(b *strings.Builder) {
	for _, ppid := range slices.Sorted(maps.Keys(v.PPID)) {
		text := strings.TrimSpace(fmt.Sprintf("%d %s", v.PPID[ppid], trace.PPIDName(ppid)))
		if lost := v.lostByPPID[ppid]; v.Receipts && lost > 0 {
			text += fmt.Sprintf(", %d without a receipt", lost)
		}

		line(b, fmt.Sprintf("PPID %d", ppid), "%s", text)
	}
}

func (v *Verdict) renderLatency(b *strings.Builder) {
	if v.Latency == nil {
		return
	}

	ms := func(seconds float64) string {
		return fmt.Sprintf("%.2f ms", seconds*float64(time.Second/time.Millisecond))
	}
	line(b, "latency", "p50 %s, p99 %s, p99.9 %s", ms(v.Latency.P50), ms(v.Latency.P99), ms(v.Latency.P999))
}

func (v *Verdict) renderNodes(b *strings.Builder) {
	var sum uint64
	for _, n := range v.Nodes {
		sum += n
	}

	for _, id := range slices.Sorted(maps.Keys(v.Nodes)) {
		line(b, "node "+id, "%s, %.1f %%", plural(v.Nodes[id], "message"), 100*float64(v.Nodes[id])/float64(max(sum, 1)))
	}
}

func (v *Verdict) renderLedger(b *strings.Builder) {
	switch {
	case !v.Ledger:
		line(b, "ledger", "not compared")
	case v.LedgerDiffers == 0:
		line(b, "ledger", "agrees, %s", plural(v.Sessions, "session"))
	default:
		line(b, "ledger", "differs in %s", plural(v.LedgerDiffers, "session"))
	}
}

func (v *Verdict) renderLines(b *strings.Builder) {
	for _, section := range []struct {
		title string
		lines []string
	}{{"difference", v.Differences}, {"error", v.Errors}, {"note", v.Warnings}} {
		for _, text := range section.lines {
			line(b, section.title, "%s", text)
		}
	}
}

// judgement is the verdict in one line.
func (v *Verdict) judgement() string {
	faults := strings.Join(v.faults(), ", ")

	switch v.Judgement {
	case Good:
		return "good: every message took effect once and in order"
	case Incomplete:
		if faults != "" {
			faults = "; until then " + faults
		}

		return "incomplete: " + v.Reason + faults
	case Unknown:
		if faults != "" {
			faults = "; besides " + faults
		}

		return "cannot be judged: " + v.Reason + faults
	case Bad:
	}

	return "bad: " + faults
}

func (v *Verdict) faults() []string {
	var bad []string

	unsent := v.Unsent
	if v.Judgement == Incomplete {
		unsent = 0 // it was ended before
	}

	for _, fault := range []struct {
		count uint64
		text  string
	}{
		{v.Lost, "lost"},
		{unsent, "not sent"},
		{v.Doubled, "doubled"},
		{v.OutOfOrder, "out of order"},
	} {
		if fault.count > 0 {
			bad = append(bad, fmt.Sprintf("%d %s", fault.count, fault.text))
		}
	}

	for _, fault := range []struct {
		count     uint64
		one, many string
	}{
		{v.Unexpected, "unexpected receipt", "unexpected receipts"},
		{v.LedgerDiffers, "session differs in the ledger", "sessions differ in the ledger"},
		{uint64(len(v.Errors)), "error", "errors"},
	} {
		switch {
		case fault.count == 1:
			bad = append(bad, "1 "+fault.one)
		case fault.count > 1:
			bad = append(bad, fmt.Sprintf("%d %s", fault.count, fault.many))
		}
	}

	return bad
}
