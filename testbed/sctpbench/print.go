package sctpbench

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
)

const quiet = 0.15 // share of the machine that others may take in a measurement to be relied on

// Text writes a report for people: a table, the figures and whether they were reached, and how quiet the machine was.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "associations\twindow\tname\tmessages/s\tx %s\tx %s\tCPU us/message\tp50 us\tp99 us\t\n", PionStock, USRSCTP)
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(&b, "%d\t%d\t%s\t%.0f\t%s\t%s\t%.1f\t%.0f\t%.0f\t\n", row.Associations, row.Window, row.Name, row.MessagesPerSecond,
			ratioText(row, r.row(PionStock, row.Load)), ratioText(row, r.row(USRSCTP, row.Load)), row.CPUMicros, row.P50*1e6, row.P99*1e6)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, err := io.WriteString(t, b.String())
	err = errors.Join(err, t.Flush())
	b.Reset()
	b.WriteByte('\n')
	for _, v := range r.Verdicts() {
		fmt.Fprintf(&b, "%s\n", v)
	}
	others := r.others()
	fmt.Fprintf(&b, "%d processors, %.0f %% of them taken by others during the rounds (median)", runtime.NumCPU(), 100*others)
	if r.Before != "" {
		fmt.Fprintf(&b, "; load average %s before, %s after", r.Before, r.After)
	}
	b.WriteByte('\n')
	if others > quiet {
		b.WriteString("others ran meanwhile: rates and round trips are theirs as well, the CPU a message takes is less so; measure again when the machine is quiet\n")
	}
	if _, werr := io.WriteString(w, b.String()); errors.Join(err, werr) != nil {
		return fmt.Errorf("write the report: %w", errors.Join(err, werr))
	}
	return nil
}
