package ring_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
)

// retrace follows an explanation to the choice that its steps tell of, without a look at the ring's rules.
func retrace(e ring.Explanation) ring.Choice {
	for i, p := range e.Probes {
		if p.Skip == ring.Taken {
			return ring.Choice{Node: p.Node, How: min(ring.How(i), ring.Chain), Probes: uint8(len(e.Probes) - 1)}
		}
	}

	if e.Spill != nil {
		return ring.Choice{Node: e.Spill.Node, How: ring.Spill, Probes: 8}
	}

	for _, c := range e.Candidates {
		if c.Skip == ring.Taken {
			return ring.Choice{Node: c.Node, How: ring.BestWeight, Probes: 8}
		}
	}

	return ring.Choice{Node: ring.NoNode, How: ring.None, Probes: 8}
}

// naiveReason is why a search by q skips a node.
func naiveReason(s situation, q ring.Query, n int) ring.Skip {
	switch {
	case n == q.Avoid:
		return ring.Avoided
	case s.states[n] == ring.Ineligible:
		return ring.NotEligible
	case q.Urgency == ring.Ordinary && s.states[n] == ring.AtLimit:
		return ring.Saturated
	case q.Occasion == ring.First && s.full[n]:
		return ring.FullOfKeys
	default:
		return ring.Taken
	}
}

// TestExplanationsAgreeWithPicks: the choice explained is the one made, its steps lead to it, and each reason is true.
func TestExplanationsAgreeWithPicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawSituations(t, func(r *ring.Ring, s situation) {
			q := drawQuery(t, r.Len())
			e := r.Explain(q)

			if want := r.Choose(q); e.Choice != want || retrace(e) != want || e.Query != q {
				t.Fatalf("%+v: explained as %+v, which leads to %+v, and is %+v", q, e, retrace(e), want)
			}

			if e.Choice.Node != ring.NoNode && e.ID != r.Node(e.Choice.Node).ID {
				t.Fatalf("node %d is called %q", e.Choice.Node, e.ID)
			}

			if e.RoomIgnored {
				q.Occasion = ring.Repeat
			}

			checkProbes(t, r, s, q, e)
			checkSpill(t, r, s, q, e)
			checkCandidates(t, r, s, q, e)

			if _, err := json.Marshal(e); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func checkProbes(t *rapid.T, r *ring.Ring, s situation, q ring.Query, e ring.Explanation) {
	x := q.Hash

	for i, p := range e.Probes {
		x *= ring.Golden

		if p.Slot != int(x/(math.MaxUint64/uint64(r.Slots())+1)) || p.Node != r.Owner(p.Slot) || p.ID != r.Node(p.Node).ID {
			t.Fatalf("probe %d of %#x is %+v", i, q.Hash, p)
		}

		want := naiveReason(s, q, p.Node)
		candidate := want == ring.Taken && e.Choice.How == ring.Chain

		if candidate && p.Node != e.Choice.Node {
			want = ring.LessWeight
		}

		if p.Skip != want {
			t.Fatalf("probe %d, %+v: want %v with %+v in %v", i, p, want, q, s)
		}

		if (p.Weight != nil) != candidate || candidate && *p.Weight != s.weight(p.Node) {
			t.Fatalf("probe %d, %+v has not the weight %v with %v", i, p, s.weight(p.Node), s)
		}
	}

	checkBest(t, e)

	if e.Choice.How > ring.Chain && r.Len() > 0 && len(e.Probes) != 9 {
		t.Fatalf("%d probes before %v", len(e.Probes), e.Choice.How)
	}
}

// checkBest: of the candidates of a chain the one taken has the larger weight, or the same and comes first; and there are no more than two.
func checkBest(t *rapid.T, e ring.Explanation) {
	met := map[int]bool{}

	for _, left := range e.Probes {
		if left.Weight == nil {
			continue
		}

		met[left.Node] = true

		for i, taken := range e.Probes {
			if left.Skip != ring.LessWeight || taken.Skip != ring.Taken {
				continue
			}

			earlier := slices.IndexFunc(e.Probes, func(p ring.Probe) bool { return p.Node == left.Node }) < i
			if *left.Weight > *taken.Weight || *left.Weight == *taken.Weight && earlier {
				t.Fatalf("%+v was left for %+v", left, taken)
			}
		}
	}

	if len(met) > 2 || e.Choice.How == ring.Chain && len(met) == 0 {
		t.Fatalf("%d candidates of %+v", len(met), e)
	}
}

func checkSpill(t *rapid.T, r *ring.Ring, s situation, q ring.Query, e ring.Explanation) {
	if (e.Spill != nil) != (e.Choice.How == ring.Spill) {
		t.Fatalf("%+v with %v", e.Spill, e.Choice.How)
	}

	if e.Spill == nil {
		return
	}

	var tickets []int

	for n := range r.Len() {
		if naiveReason(s, q, n) == ring.Taken {
			tickets = append(tickets, slices.Repeat([]int{n}, max(r.Share(n), 1))...)
		}
	}

	if uint64(len(tickets)) != e.Spill.Of || tickets[e.Spill.Rank] != e.Choice.Node {
		t.Fatalf("%+v of %d tickets", e.Spill, len(tickets))
	}
}

func checkCandidates(t *rapid.T, r *ring.Ring, s situation, q ring.Query, e ring.Explanation) {
	if e.Choice.How < ring.BestWeight {
		if e.Candidates != nil {
			t.Fatalf("%v: %+v", e.Choice, e.Candidates)
		}

		return
	}

	if len(e.Candidates) != r.Len() {
		t.Fatalf("%d candidates of %d nodes", len(e.Candidates), r.Len())
	}

	for i, c := range e.Candidates {
		weight := s.weight(i)
		if c.Node != i || c.ID != r.Node(i).ID || c.State != s.states[i] || [3]uint32{c.InFlight, c.Limit, c.HardCap} != s.loads[i] ||
			c.Pressure != s.pressures[i] || c.Weight != weight {
			t.Fatalf("%+v, want weight %v and %v", c, weight, s)
		}

		capped := q.Urgency == ring.Ordinary && c.InFlight >= c.HardCap

		switch c.Skip {
		case ring.NotEligible:
			if c.State != ring.Ineligible {
				t.Fatalf("%+v is eligible", c)
			}
		case ring.HardCapped:
			if !capped {
				t.Fatalf("%+v is below its hard cap", c)
			}
		case ring.Avoided:
			if i != q.Avoid {
				t.Fatalf("%+v is not avoided by %+v", c, q)
			}
		case ring.LessWeight:
			if taken := e.Candidates[e.Choice.Node]; c.Weight > taken.Weight || c.Weight == taken.Weight && i < taken.Node {
				t.Fatalf("%+v has no less weight than %+v", c, taken)
			}
		case ring.Taken:
			if c.State == ring.Ineligible || capped {
				t.Fatalf("%+v was taken", c)
			}
		case ring.Saturated, ring.FullOfKeys:
			t.Fatalf("no reason for the last resort: %+v", c)
		default:
			t.Fatalf("%+v", c)
		}
	}
}

// TestExplanationReadsWell: what operators' tools get as JSON.
func TestExplanationReadsWell(t *testing.T) {
	r := build(t, members(3), ring.Config{Bits: 8})
	home := r.Home(77)
	r.SetFull(home, ring.Full)

	got, err := json.Marshal(r.Explain(ring.Query{Hash: 77, Avoid: ring.NoNode, Occasion: ring.First}))
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{`"hash":"77"`, `"occasion":"first"`, `"urgency":"ordinary"`, `"skip":"full-of-keys"`, `"skip":"taken"`, `"how":"chain"`, `"roomIgnored":false`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s does not say %s", got, want)
		}
	}

	for i := range 3 {
		r.SetState(i, ring.AtLimit)
		r.SetLoad(i, 5, 0, 6)
	}

	got, err = json.Marshal(r.Explain(ring.Query{Hash: 77, Avoid: 0}))
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{`"skip":"at-limit"`, `"skip":"avoided"`, `"skip":"less-weight"`, `"state":"at-limit"`, `"how":"best-weight"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s does not say %s", got, want)
		}
	}

	if got := fmt.Sprint(ring.Taken, ring.Avoided, ring.NotEligible, ring.Saturated, ring.FullOfKeys, ring.HardCapped, ring.LessWeight, ring.Skip(9)); got != "taken avoided ineligible at-limit full-of-keys at-hard-cap less-weight skip 9" {
		t.Error(got)
	}
}
