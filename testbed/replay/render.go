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

	fmt.Fprintf(&b, "sent          %d messages over %s, %s\n", v.Sent, plural(v.Associations, "association"), plural(v.Sessions, "session"))
	fmt.Fprintf(&b, "acknowledged  %d in %.3f s, %.0f messages/s\n", v.Acknowledged, v.Seconds, v.MessagesPerSecond)
	fmt.Fprintf(&b, "lost %d, doubled %d, out of order %d\n", v.Lost, v.Doubled, v.OutOfOrder)
	v.renderOddities(&b)
	v.renderPPIDs(&b)
	v.renderLatency(&b)
	v.renderNodes(&b)
	v.renderLedger(&b)
	v.renderLines(&b)
	fmt.Fprintf(&b, "verdict       %s\n", v.judgement())

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}

	return nil
}

func (v *Verdict) renderOddities(b *strings.Builder) {
	for _, o := range []struct {
		count uint64
		text  string
	}{
		{v.Unsent, "could not be sent"},
		{v.Quarantined, "set aside by the target, which fails on them"},
		{v.Unexpected, "receipts that match no message"},
		{v.Replies, "other messages came from the target"},
	} {
		if o.count > 0 {
			fmt.Fprintf(b, "              %d %s\n", o.count, o.text)
		}
	}
}

func (v *Verdict) renderPPIDs(b *strings.Builder) {
	for _, ppid := range slices.Sorted(maps.Keys(v.PPID)) {
		fmt.Fprintf(b, "PPID %-9d%d %s", ppid, v.PPID[ppid], trace.PPIDName(ppid))

		if lost := v.lostByPPID[ppid]; v.Receipts && lost > 0 {
			fmt.Fprintf(b, ", %d without a receipt", lost)
		}

		b.WriteString("\n")
	}
}

func (v *Verdict) renderLatency(b *strings.Builder) {
	if !v.Receipts {
		return
	}

	ms := func(seconds float64) string {
		return fmt.Sprintf("%.2f ms", seconds*float64(time.Second/time.Millisecond))
	}
	fmt.Fprintf(b, "latency       p50 %s, p99 %s, p99.9 %s\n", ms(v.Latency.P50), ms(v.Latency.P99), ms(v.Latency.P999))
}

func (v *Verdict) renderNodes(b *strings.Builder) {
	var sum uint64
	for _, n := range v.Nodes {
		sum += n
	}

	for _, id := range slices.Sorted(maps.Keys(v.Nodes)) {
		fmt.Fprintf(b, "node %-9s%d messages, %.1f %%\n", id, v.Nodes[id], 100*float64(v.Nodes[id])/float64(max(sum, 1)))
	}
}

func (v *Verdict) renderLedger(b *strings.Builder) {
	switch {
	case !v.Ledger:
		b.WriteString("ledger        not compared\n")
	case v.LedgerDiffers == 0:
		fmt.Fprintf(b, "ledger        agrees, %s\n", plural(v.Sessions, "session"))
	default:
		fmt.Fprintf(b, "ledger        differs in %s\n", plural(v.LedgerDiffers, "session"))
	}
}

func (v *Verdict) renderLines(b *strings.Builder) {
	for _, section := range []struct {
		title string
		lines []string
	}{{"difference", v.Differences}, {"error", v.Errors}, {"note", v.Warnings}} {
		for _, line := range section.lines {
			fmt.Fprintf(b, "%-14s%s\n", section.title, line)
		}
	}
}

// judgement is the verdict in one line.
func (v *Verdict) judgement() string {
	if v.OK() {
		return "good: every message took effect once and in order"
	}

	var bad []string

	for _, fault := range []struct {
		count uint64
		text  string
	}{
		{v.Lost, "lost"},
		{v.Unsent, "not sent"},
		{v.Doubled, "doubled"},
		{v.OutOfOrder, "out of order"},
		{v.Unexpected, "unexpected receipts"},
		{v.LedgerDiffers, "sessions differ in the ledger"},
		{uint64(len(v.Errors)), "errors"},
	} {
		if fault.count > 0 {
			bad = append(bad, fmt.Sprintf("%d %s", fault.count, fault.text))
		}
	}

	return "bad: " + strings.Join(bad, ", ")
}
