package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestPowerOfTwo(t *testing.T) {
	t.Parallel()

	b := newBench(t, "power-of-two", policy.Options{Seed: 7}, 1, 9, 1, 1)

	// Of the six pairs, each as likely, a is the better of three, b of two, c of one.
	b.inFlight(0, 1, 2, 3)
	shareNear(t, b, 100*3./6, 100*2./6, 100*1./6, 0)

	b.inFlight(3, 2, 1, 0)
	shareNear(t, b, 0, 100*1./6, 100*2./6, 100*3./6)

	b.inFlight(5, 5, 5, 5)
	shareNear(t, b, 25, 25, 25, 25)

	// Among three: a of two pairs, c of one.
	b.inFlight(0, 1, 2, 3)
	b.SetState(1, ring.AtLimit)
	shareNear(t, b, 100*2./3, 0, 100*1./3, 0)

	b.states(ring.AtLimit, ring.AtLimit, ring.Open, ring.Open)
	same(t, "two left: the better", b.picks(5), "ccccc")

	b.SetState(2, ring.AtLimit)
	same(t, "one left", b.picks(5), "ddddd")
}

func TestPowerOfTwoAvoids(t *testing.T) {
	t.Parallel()

	b := newBench(t, "power-of-two", policy.Options{Seed: 7}, 1, 1, 1)

	for range 100 {
		if c := b.Pick(policy.Query{Avoid: 0}); c.Node == 0 {
			t.Fatal("the node to avoid was drawn while others were open")
		}
	}

	shareNear(t, b, 100./3, 100./3, 100./3)
}
