//go:build !race

package ringbench_test

import (
	"testing"

	"skyring/testbed/ringbench"
)

// TestRunOnePercent is left out under the race detector, which makes large tables take half a minute.
func TestRunOnePercent(t *testing.T) {
	o := quick()
	o.Candidates = ringbench.Ours()[1:2]
	o.Nodes = []int{16, 64}

	rows, err := ringbench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	for _, r := range rows {
		if r.Name != "skyring-1pct" || r.MaxMean > 1.0101 || *r.Weighted1248 > 1.0101 || r.MovedRemove > 1.03 || r.MovedAdd > 1.03 || r.Allocs != 0 {
			t.Errorf("%+v", r)
		}
	}
}
