package sctpbench_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"skyring/testbed/sctpbench"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loads are smaller than those of the benchmark.
func loads() []sctpbench.Load {
	return []sctpbench.Load{{Associations: 1, Window: 1}, {Associations: 9, Window: 3}} // more than an endpoint of ours gets links
}

// TestEveryContestant gets all figures of all, in order. That nothing was lost, doubled or out of order, Run has seen to.
func TestEveryContestant(t *testing.T) {
	var told []int
	report, err := sctpbench.Run(t.Context(), sctpbench.Options{
		Rounds: 2, Duration: 30 * time.Millisecond, Loads: loads(),
		Progress: func(done, total int) { told = append(told, done, total) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := sctpbench.Names()
	if len(report.LeftOut) > 0 {
		if os.Getenv("CI") == "true" || len(report.LeftOut) > 1 || !strings.HasPrefix(report.LeftOut[0], "usrsctp is left out: ") {
			t.Fatal(report.LeftOut)
		}
		t.Log(report.LeftOut)
		want = slices.DeleteFunc(want, func(name string) bool { return name == sctpbench.USRSCTP })
	}
	if len(report.Rows) != len(loads())*len(want) {
		t.Fatalf("%d rows, want %d", len(report.Rows), len(loads())*len(want))
	}
	for i, row := range report.Rows {
		if load := loads()[i/len(want)]; row.Name != want[i%len(want)] || row.Load != load {
			t.Errorf("row %d is %s, %+v; want %s, %+v", i, row.Name, row.Load, want[i%len(want)], load)
		}
		whole(t, row)
	}
	if total := 2 * len(report.Rows); len(told) != 2*total || told[len(told)-2] != total || told[len(told)-1] != total {
		t.Errorf("progress was told %v", told)
	}
}

// whole checks that a row has all its figures.
func whole(t *testing.T, row sctpbench.Row) {
	t.Helper()
	if len(row.Rounds) != 2 {
		t.Fatalf("%s has %d rounds", row.Name, len(row.Rounds))
	}
	for _, r := range row.Rounds {
		if r.Messages <= 0 || r.MessagesPerSecond <= 0 || r.CPUMicros <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.Others < 0 || r.Others > 1 {
			t.Errorf("%s with %+v: %+v", row.Name, row.Load, r)
		}
	}
	lower := min(row.Rounds[0].MessagesPerSecond, row.Rounds[1].MessagesPerSecond)
	if row.MessagesPerSecond != lower || row.CPUMicros <= 0 || row.P50 <= 0 || row.P99 < row.P50 {
		t.Errorf("%s is no median: %+v", row.Name, row)
	}
}

// TestJSON holds rows to their keys.
func TestJSON(t *testing.T) {
	t.Parallel()
	report := &sctpbench.Report{Rows: []sctpbench.Row{{
		Name: "skyring", Load: sctpbench.Load{Associations: 100, Window: 8}, MessagesPerSecond: 1, CPUMicros: 2, P50: 3, P99: 4,
		Rounds: []sctpbench.Round{{Messages: 5}},
	}}}
	text, err := json.Marshal(report.WithoutRounds()[0])
	want := `{"name":"skyring","associations":100,"window":8,"messagesPerSecond":1,"cpuMicros":2,"p50":3,"p99":4}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	text, err = json.Marshal(report.Rows[0])
	if err != nil || !strings.Contains(string(text), `"rounds":[{"messages":5,`) {
		t.Errorf("%s, %v: no rounds", text, err)
	}
}

// TestFaults names what is wrong, all at once.
func TestFaults(t *testing.T) {
	t.Parallel()
	_, err := sctpbench.Run(t.Context(), sctpbench.Options{
		Rounds: -1, Duration: time.Hour, Only: []string{"tcp", "quic"}, Loads: []sctpbench.Load{{Associations: 0, Window: 1}, {Associations: 1, Window: 257}},
	})
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{"rounds: -1", "seconds a round: 3600", `only: "quic": tcp, udp, pionStock, `, "0 associations", "window 257"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}

// TestLeftOut goes on without what the machine has not got, and says so.
func TestLeftOut(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no compiler
	o := sctpbench.Options{Rounds: 1, Duration: 10 * time.Millisecond, Only: []string{"usrsctp", "tcp"}, Loads: loads()[:1]}
	report, err := sctpbench.Run(t.Context(), o)
	if err != nil || len(report.Rows) != 1 || report.Rows[0].Name != "tcp" {
		t.Fatalf("%+v, %v", report, err)
	}
	const why = "usrsctp is left out: no C compiler"
	if len(report.LeftOut) != 1 || !strings.HasPrefix(report.LeftOut[0], why) {
		t.Errorf("left out: %q", report.LeftOut)
	}
	o.Only = []string{"usrsctp"}
	if _, err := sctpbench.Run(t.Context(), o); !errors.Is(err, sctpbench.ErrNothing) || !strings.Contains(err.Error(), why) {
		t.Errorf("%v", err)
	}
}

// TestEndsWithItsContext gives up in the middle of a round of each contestant, and leaves nothing behind.
func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, name := range sctpbench.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, after := range []time.Duration{0, 5 * time.Millisecond, 100 * time.Millisecond} {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				o := sctpbench.Options{Rounds: 1, Duration: time.Minute, Only: []string{name}, Loads: loads()[1:]}
				_, err := sctpbench.Run(ctx, o)
				if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, sctpbench.ErrNothing) {
					t.Errorf("after %v: %v", after, err)
				}
				cancel()
			}
		})
	}
}
