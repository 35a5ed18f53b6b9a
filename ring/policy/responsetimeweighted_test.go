package policy_test

import (
	"testing"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestResponseTimeWeighted(t *testing.T) {
	t.Parallel()

	b := newBench(t, "response-time-weighted", policy.Options{Seed: 11}, 1, 1, 1)
	same(t, "no weights yet: in turn", b.picks(4), "abca")

	// The sum is 60: weights 50, 40, 30 of 120.
	b.responses(0, 10, 20, 30)
	b.Tick(0)
	shareNear(t, b, 100*50./120, 100*40./120, 100*30./120)

	b.SetState(1, ring.AtLimit)
	shareNear(t, b, 100*50./80, 0, 100*30./80)

	for range 100 {
		if c := b.Pick(policy.Query{Avoid: 0}); c.Node != 2 {
			t.Fatalf("b at its limit, a avoided: got %+v, want c", c)
		}
	}

	b.SetState(1, ring.Open)
	b.responses(time.Second, 30, 20, 10)
	b.Tick(29 * time.Second)
	shareNear(t, b, 100*50./120, 100*40./120, 100*30./120) // not within 30 s
	b.Tick(30 * time.Second)
	shareNear(t, b, 100*30./120, 100*40./120, 100*50./120)
}

// Where all that is usable has weight 0, nodes take turns.
func TestResponseTimeWeightedZero(t *testing.T) {
	t.Parallel()

	b := newBench(t, "response-time-weighted", policy.Options{}, 1, 1, 1)
	b.responses(0, 10, 0, 0)
	b.Tick(0)
	b.states(ring.Open, ring.AtLimit, ring.AtLimit) // a's weight is 10 - 10
	same(t, "a alone", b.picks(2), "aa")

	b = newBench(t, "response-time-weighted", policy.Options{}, 1, 1)
	b.responses(0, 0, 0)
	b.Tick(0)
	same(t, "no response times", b.picks(4), "abab")
}
