package policy_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestNegativeLog(t *testing.T) {
	p := mustNew(t, "weighted-rendezvous", nil, standard())

	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Uint64().Draw(t, "x") >> rapid.IntRange(0, 63).Draw(t, "shift")
		fixed, fraction := policy.NegativeLog(p, x)
		got := float64(fixed) / math.Exp2(float64(fraction))

		if want := 64 - math.Log2(float64(x|1)); math.Abs(got-want) > 2e-7 {
			t.Fatalf("-log2(%d/2^64) = %v, want %v", x, got, want)
		}
	})
}

// TestNegativeLogIsStrictlyOrdered where it matters, next to 1: the winner's u is close to it.
func TestNegativeLogIsStrictlyOrdered(t *testing.T) {
	p := mustNew(t, "weighted-rendezvous", nil, standard())
	before := uint64(math.MaxUint64)

	for i := range 60 {
		got, _ := policy.NegativeLog(p, math.MaxUint64-(uint64(1)<<63>>i))
		if got >= before {
			t.Fatalf("2^64 - 2^%d gives %d, one farther away %d", 63-i, got, before)
		}

		if bits.Len64(got) < 2 {
			break
		}

		before = got
	}
}

// TestRendezvousTakesTheBestScore: against scores in floating point.
func TestRendezvousTakesTheBestScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := processors(rapid.IntRange(1, 40).Draw(t, "nodes"), rapid.SliceOfN(rapid.Uint32Range(1, 1000), 5, 5).Draw(t, "capacities")...)

		p, err := policy.New("weighted-rendezvous", nodes, standard())
		if err != nil {
			t.Fatal(err)
		}

		q := policy.SessionQuery(rapid.Uint64().Draw(t, "number"))
		got, how := p.Pick(q).Node, p.Pick(q).How

		score := func(i int) float64 {
			u := float64(ring.Scramble(q.Hash^xxh3.HashString(nodes[i].ID))) / math.Exp2(64)

			return -math.Log(u) / float64(nodes[i].Capacity)
		}

		for i := range nodes {
			if score(i) < score(got)*(1-1e-4)-1e-9 || how != ring.Home {
				t.Fatalf("node %d (%v) scores better than %d (%v)", i, score(i), got, score(got))
			}
		}
	})
}

func TestRendezvousSharesAreByCapacity(t *testing.T) {
	p := mustNew(t, "weighted-rendezvous", processors(16, 1, 2, 4, 8), standard())
	if worst := tilt(p, policy.SharesOf(p, 200_000)); worst > 1.03 {
		t.Errorf("the fullest has %v of its share", worst)
	}
}

// TestConsistentHashesMoveOnlyWhatTheyMust: a node that leaves takes no key of others along, and one that comes takes keys for
// itself alone. Of these policies each node has its own places, which do not depend on the others.
func TestConsistentHashesMoveOnlyWhatTheyMust(t *testing.T) {
	for _, name := range []string{"plain-ring", "bounded-ring", "weighted-rendezvous", "multi-probe", "paper-32bit"} {
		nodes := processors(20)
		gone := nodes[7].ID

		before := homes(mustNew(t, name, nodes, standard()), 5000)
		after := homes(mustNew(t, name, without(nodes, 7), standard()), 5000)

		if !slices.Contains(before, gone) {
			t.Errorf("%s gives %s nothing", name, gone)
		}

		for k := range before {
			if before[k] != after[k] && before[k] != gone {
				t.Errorf("%s moves key %d from %s to %s", name, k+1, before[k], after[k])

				break
			}
		}
	}
}
