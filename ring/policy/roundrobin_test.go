package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestRoundRobin(t *testing.T) {
	t.Parallel()

	b := newBench(t, "round-robin", policy.Options{}, 1, 5, 1)
	same(t, "all open", b.picks(7), "abcabca")

	b.SetState(1, ring.AtLimit)

	if c := b.pick(); c != (ring.Choice{Node: 2, How: ring.Chain, Probes: 1}) {
		t.Errorf("b at its limit at its turn: got %+v, want c as the next one", c)
	}

	same(t, "b at its limit", b.picks(4), "acac")

	b.SetState(1, ring.Open)
	same(t, "b open again", b.picks(4), "abca")

	if c := b.Pick(policy.Query{Avoid: 1}); c != (ring.Choice{Node: 2, How: ring.Chain, Probes: 1}) {
		t.Errorf("b avoided at its turn: got %+v, want c as the next one", c)
	}

	b.states(ring.Open, ring.AtLimit, ring.AtLimit)
	same(t, "a alone", b.picks(1), "a")

	if c := b.pick(); c != (ring.Choice{Node: 0, How: ring.Chain, Probes: 2}) {
		t.Errorf("a alone, at b's turn: got %+v, want it after two", c)
	}

	b.states(ring.Ineligible, ring.Ineligible, ring.Open)
	same(t, "c alone", b.picks(3), "ccc")
}

// The only usable node of many is found wherever the turn is, and the count of those passed over stops at what it can show.
func TestRoundRobinMany(t *testing.T) {
	t.Parallel()

	b := benchOf(t, "round-robin", policy.Options{}, equal(1000))
	for i := range 1000 {
		if i != 129 {
			b.SetState(i, ring.AtLimit)
		}
	}

	if c := b.pick(); c != (ring.Choice{Node: 129, How: ring.Chain, Probes: 129}) {
		t.Errorf("first: got %+v", c)
	}

	if c := b.pick(); c != (ring.Choice{Node: 129, How: ring.Chain, Probes: 255}) {
		t.Errorf("all the way round: got %+v", c)
	}
}
