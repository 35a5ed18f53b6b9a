package sctpbench_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"skyring/testbed/sctpbench"
)

// TestLink measures a moment over a short link: a row for each loss, each message back, and none before the link lets it.
func TestLink(t *testing.T) {
	t.Parallel()
	rows, err := sctpbench.RunLink(t.Context(), sctpbench.LinkOptions{Rounds: 2, Duration: 200 * time.Millisecond, Delay: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, want := range []struct{ loss, figure float64 }{{0, 0.61}, {0.01, 1.4}, {0.05, 3.5}} {
		r := rows[i]
		if r.Loss != want.loss || r.Figure != want.figure || r.Name != "skyring-link" || len(r.Rounds) != 2 {
			t.Errorf("row %d: %+v", i, r)
		}
		if (r.Lost > 0) != (r.Loss == 0.05) && r.Loss != 0.01 { // at 1 % it may be none of so few
			t.Errorf("row %d: %d packets lost", i, r.Lost)
		}
		if r.Messages != 2*10*4 || r.P50 < 0.02 || r.P99 < r.P50 {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	rows[0].P99, rows[1].P99, rows[1].Late = 0.6, 1.5, 0.011
	rows[0].Rounds, rows[1].Rounds = []sctpbench.LinkRound{{P99: 0.6}, {P99: 0.62}}, []sctpbench.LinkRound{{P99: 1.5}, {P99: 1.5}}
	var text bytes.Buffer
	if err := sctpbench.LinkText(&text, rows[:2]); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`(?m)^ +0 +80 .* 0\.600 +0\.61 +reached; 1 of 2 rounds `, `(?m)^ +1 +80 .* 1\.500 +1\.40 +NOT reached; 0 of 2 rounds +0\.011$`, `(?m)^the emulator was late: `} {
		if !regexp.MustCompile(line).Match(text.Bytes()) {
			t.Errorf("no line like %s in\n%s", line, &text)
		}
	}
}

// TestLinkFaults refuses what cannot be, and ends with its context.
func TestLinkFaults(t *testing.T) {
	t.Parallel()
	_, err := sctpbench.RunLink(t.Context(), sctpbench.LinkOptions{Rounds: 101, Delay: -1})
	if err == nil || !strings.Contains(err.Error(), "rounds over a link: 101: 1 to 100") || !strings.Contains(err.Error(), "none may be negative") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := sctpbench.RunLink(ctx, sctpbench.LinkOptions{Rounds: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
