package policy_test

import (
	"testing"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

// failing reports a node's failures in a row.
func (b *bench) failing(i int, at time.Duration, n uint32) {
	b.SetReport(i, policy.Report{At: at, ConsecutiveFailures: n})
}

func TestAvailability(t *testing.T) {
	t.Parallel()

	b := newBench(t, "availability", policy.Options{}, 1, 1, 1)
	same(t, "none fails", b.picks(4), "abca")

	b.failing(1, 0, 2)
	same(t, "two failures do not count", b.picks(3), "bca")

	b.Tick(time.Second)
	b.failing(1, time.Second, 3)
	same(t, "three do", b.picks(4), "caca")

	for _, c := range []struct {
		failures uint32
		pause    time.Duration
	}{{3, 10 * time.Second}, {4, 20 * time.Second}, {5, 30 * time.Second}, {9, 30 * time.Second}, {4_000_000_000, 30 * time.Second}} {
		b := newBench(t, "availability", policy.Options{}, 1, 1)
		b.Tick(time.Minute)
		b.failing(0, time.Minute, c.failures)
		b.failing(0, time.Minute+5*time.Second, c.failures) // no new failure
		b.Tick(time.Minute + c.pause - 1)

		if got := b.picks(2); got != "bb" {
			t.Errorf("%d failures, just before %v: picked %s", c.failures, c.pause, got)
		}

		b.Tick(time.Minute + c.pause)

		if got := b.picks(2); got != "ab" {
			t.Errorf("%d failures, after %v: picked %s", c.failures, c.pause, got)
		}
	}

	b.failing(1, 2*time.Second, 0)
	same(t, "an answer closes it", b.picks(3), "bca")
}

func TestAvailabilityNoneLeft(t *testing.T) {
	t.Parallel()

	tell := func(limits policy.LimitRule) *bench {
		b := newBench(t, "availability", policy.Options{Limits: limits}, 1, 1, 1)
		for i, pressure := range []float64{0.3, 0.2, 0.1} {
			b.SetReport(i, policy.Report{ConsecutiveFailures: 3, Pressure: pressure})
		}

		b.SetState(2, ring.AtLimit)

		return b
	}

	if c := tell(policy.IgnoreLimits).pick(); c != (ring.Choice{Node: ring.NoNode, How: ring.None}) {
		t.Errorf("ignoring limits: got %+v, want none", c)
	}

	b := tell(policy.RespectLimits)
	if c := b.pick(); c != (ring.Choice{Node: 1, How: ring.Spill}) {
		t.Errorf("respecting limits: got %+v, want b, the better of the open ones", c)
	}

	b.failing(0, time.Second, 0)

	if c := b.Pick(policy.Query{Avoid: 0}); c != (ring.Choice{Node: 1, How: ring.Spill}) {
		t.Errorf("a closed but avoided: got %+v, want b", c)
	}

	b.states(ring.Open, ring.Ineligible, ring.Ineligible)

	if c := b.Pick(policy.Query{Avoid: 0}); c != (ring.Choice{Node: 0, How: ring.BestWeight}) {
		t.Errorf("a avoided and no other: got %+v, want a", c)
	}
}
