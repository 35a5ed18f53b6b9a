package sctpbench_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"skyring/testbed/sctpbench"
)

// row is one with a rate for each round.
func row(name string, rates ...float64) sctpbench.Row {
	r := sctpbench.Row{
		Name: name, Load: sctpbench.Load{Associations: 100, Window: 8}, MessagesPerSecond: rates[0], CPUMicros: 20, P50: 0.001, P99: 0.0025,
	}
	for _, rate := range rates {
		r.Rounds = append(r.Rounds, sctpbench.Round{MessagesPerSecond: rate, CPUMicros: 20, Others: 0.25})
	}
	return r
}

// TestVerdicts judges by the rounds' own ratios, not by the medians of two rows.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	report := &sctpbench.Report{Before: "1.00 2.00 3.00", After: "2.00 2.00 3.00", Rows: []sctpbench.Row{
		row("pionStock", 100, 200, 400), row("skyring", 96, 190, 100), row("usrsctp", 60, 100, 200),
	}}
	want := []string{
		"skyring echoes at least 0.95 of pionStock with 100 associations: reached, 0.95; 2 of 3 rounds agree; CPU a message 1.00",
		"skyring echoes at least 1.5 of usrsctp with 100 associations: reached, 1.60; 2 of 3 rounds agree; CPU a message 1.00",
	}
	said(t, report, want...)
	report.Rows[1] = row("skyring", 90, 180, 400)
	said(t, report, "skyring echoes at least 0.95 of pionStock with 100 associations: NOT reached, 0.90; 1 of 3 rounds reach it; CPU a message 1.00")
	report.Rows = report.Rows[:1]
	said(t, report, "skyring echoes at least 1.5 of usrsctp with 100 associations: not measured")

	var text bytes.Buffer
	report.Rows = []sctpbench.Row{row("pionStock", 100, 200, 400), row("skyring", 50, 100, 200)}
	if err := report.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`(?m)^ +associations +window +name +messages/s +x pionStock +x usrsctp +CPU us/message +p50 us +p99 us$`,
		`(?m)^ +100 +8 +pionStock +100 +1\.00 +- +20\.0 +1000 +2500$`,
		`(?m)^ +100 +8 +skyring +50 +0\.50 +- +20\.0 +1000 +2500$`,
		`(?m)^\d+ processors, 25 % of them taken by others during the rounds \(median\); load average 1\.00 2\.00 3\.00 before, 2\.00 2\.00 3\.00 after$`,
		`(?m)^others ran meanwhile: `,
	} {
		if !regexp.MustCompile(line).Match(text.Bytes()) {
			t.Errorf("no line like %s in\n%s", line, &text)
		}
	}
}

func said(t *testing.T, report *sctpbench.Report, want ...string) {
	t.Helper()
	var lines []string
	for _, v := range report.Verdicts() {
		lines = append(lines, v.String())
	}
	all := strings.Join(lines, "\n")
	for _, sentence := range want {
		if !strings.Contains(all, sentence) {
			t.Errorf("the verdicts are\n%s\nand not %s", all, sentence)
		}
	}
}
