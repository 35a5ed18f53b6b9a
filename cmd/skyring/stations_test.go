package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"
)

// TestCallsStayUpWhileProcessorsComeAndGo plays 2,000 stations with 200 calls at a
// time, kills a processor and adds another: every call that was up stays up, no channel
// is left behind, and there is one call detail record a call.
func TestCallsStayUpWhileProcessorsComeAndGo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, "skyring", "stations", "--count", "2000", "--calls", "200", "--seconds", "20",
		"--kill-processor", "--add-processor", "--json", "--quiet")

	var stderr bytes.Buffer
	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}

	var verdict struct {
		Stations, LoggedOn, Calls, Completed, Dropped, LeakedChannels, StuckCalls, CDRs, Lost, Doubled int
		Setup, Answer                                                                                  struct{ P50, P99 float64 }
	}

	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&verdict); err != nil {
		t.Fatalf("no verdict: %v\n%s", err, out)
	}

	v := verdict
	if v.Stations != 2000 || v.LoggedOn != v.Stations || v.Calls < 200 || v.Completed != v.Calls || v.CDRs != v.Calls {
		t.Errorf("not all stations or calls came through: %s", out)
	}

	if v.Dropped != 0 || v.LeakedChannels != 0 || v.StuckCalls != 0 || v.Lost != 0 || v.Doubled != 0 {
		t.Errorf("something was dropped, left behind, lost or doubled: %s", out)
	}

	if bytes.Count(bytes.TrimSpace(out), []byte("\n")) != 0 {
		t.Errorf("more than one line: %s", out)
	}
}
