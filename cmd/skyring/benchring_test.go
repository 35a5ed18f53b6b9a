//go:build !race

package main

import (
	"strings"
	"testing"
)

// TestBenchRing is left out under the race detector, which makes rings of 2^20 slots take long.
func TestBenchRing(t *testing.T) {
	t.Parallel()

	rows := jsonLines(t, "bench", "ring", "--nodes", "4", "--rounds", "1", "--json")

	var names []string

	for _, row := range rows {
		wantNumbers(t, row, "nodes lookupNs allocs maxMean weighted1248 movedRemove movedAdd buildMs")

		names = append(names, row["name"].(string))
	}

	if got := strings.Join(names, " "); got != "skyring skyring-1pct skyring-saturated" {
		t.Errorf("rows of %q", got)
	}

	if text, err := output(t, "bench", "ring", "--nodes", "16", "--rounds", "0"); exitCode(err) != exitUsage || !strings.Contains(text, "--rounds is 0") {
		t.Errorf("%v\n%s", err, text)
	}

	text, err := output(t, "bench", "ring", "--nodes", "1")
	if exitCode(err) != exitUsage || !strings.Contains(text, "nodes: 1: want 2..") {
		t.Errorf("%v\n%s", err, text)
	}
}
