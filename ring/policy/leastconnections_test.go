package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestLeastConnections(t *testing.T) {
	t.Parallel()

	b := newBench(t, "least-connections", policy.Options{}, 1, 9, 1)
	same(t, "from idle", b.dispatches(7), "abcabca")

	b.inFlight(4, 2, 3)
	same(t, "4, 2, 3 in flight", b.dispatches(4), "bbca")

	b.inFlight(0, 2, 3)
	same(t, "a answered", b.dispatches(3), "aaa")

	b.SetState(0, ring.AtLimit)
	same(t, "a at its limit", b.picks(2), "bb")
}

// Against a scan, through every kind of change.
func TestLeastConnectionsScan(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "nodes")

		p, err := policy.New("least-connections", equal(n), policy.Options{Ring: ring.DefaultConfig()})
		if err != nil {
			t.Fatal(err)
		}

		counts, open := make([]uint32, n), make([]bool, n)
		for i := range open {
			open[i] = true
		}

		for range 100 {
			i := rapid.IntRange(0, n-1).Draw(t, "node")

			if rapid.Bool().Draw(t, "load") {
				counts[i] = rapid.Uint32Range(0, 9).Draw(t, "in flight")
				p.SetLoad(i, policy.Load{InFlight: counts[i], Limit: 10, HardCap: 20})
			} else {
				s := ring.State(rapid.IntRange(0, 2).Draw(t, "state"))
				open[i] = s == ring.Open
				p.SetState(i, s)
			}

			avoid := rapid.IntRange(-1, n-1).Draw(t, "avoid")

			want := ring.NoNode
			for i := range n {
				if open[i] && i != avoid && (want == ring.NoNode || counts[i] < counts[want]) {
					want = i
				}
			}

			got := p.Pick(policy.Query{Avoid: avoid})
			if want != ring.NoNode && got.Node != want || (want == ring.NoNode) == (got.How == ring.Home) {
				t.Fatalf("picked %+v, want node %d of %v", got, want, counts)
			}
		}
	})
}
