package policy_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestListNamesEveryPolicy(t *testing.T) {
	want := strings.Fields(`skyring paper paper-32bit modulo fastest-response round-robin weighted-round-robin smooth-weighted-round-robin source-hash
		destination-hash least-connections weighted-least-connections dynamic-feedback dynamic-feedback-connections response-ratio z-curve
		drf drf-half drf-12 response-time-weighted availability even-ring even-ring-printed plain-ring random-placement bounded-ring maglev
		jump weighted-rendezvous multi-probe power-of-two`)

	got := allNames()
	if got[0] != policy.Default {
		t.Errorf("the first is %s", got[0])
	}

	slices.Sort(want)
	slices.Sort(got)

	if !slices.Equal(got, want) {
		t.Errorf("listed are\n%v, want\n%v", got, want)
	}

	for _, d := range policy.List() {
		if d.Summary == "" || d.Source == "" {
			t.Errorf("%s has no summary or no source", d.Name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		nodes   []ring.Node
		options policy.Options
		want    string
	}{
		{"fastest", processors(1), standard(), `"fastest" is no policy: skyring, `},
		{"modulo", []ring.Node{{ID: "a"}}, standard(), `policy modulo: node "a" has capacity 0: at least 1 is needed`},
		{"modulo", processors(1), policy.Options{Ring: ring.DefaultConfig(), Limits: 2}, "limits: rule 2 is none"},
		{"modulo", processors(1), policy.Options{Ring: ring.DefaultConfig(), VirtualNodes: -1}, "virtual nodes: -1 is out of 1..16777216"},
		{"modulo", processors(1), policy.Options{Ring: ring.DefaultConfig(), Threshold: math.NaN()}, "threshold: NaN: want a part"},
		{"modulo", processors(1), policy.Options{Ring: ring.DefaultConfig(), Interval: -1}, "interval: -1ns: want a positive time"},
		{"plain-ring", processors(17), policy.Options{Ring: ring.DefaultConfig(), VirtualNodes: 1 << 20}, "17 nodes of 1048576 virtual nodes are 17825792: at most 16777216 fit"},
		{"even-ring", processors(2, 1, math.MaxUint32), standard(), `the even ring has more than 16777216 virtual nodes, as the smallest of 2 nodes has capacity 1 and "processor-0002" has 4294967295`},
	} {
		if _, err := policy.New(c.name, c.nodes, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// situation is a policy and what it was last told, to judge its choices by.
type situation struct {
	policy policy.Policy
	twin   policy.Policy // is told the same, nil for none
	rule   policy.LimitRule
	now    time.Duration

	states  []ring.State
	loads   []policy.Load
	reports []policy.Report
}

func newSituation(p policy.Policy, rule policy.LimitRule) *situation {
	s := &situation{policy: p, rule: rule, states: make([]ring.State, p.Len()), reports: make([]policy.Report, p.Len())}
	for i := range p.Len() {
		s.loads = append(s.loads, policy.Load{Limit: p.Node(i).Capacity, HardCap: math.MaxUint32})
	}

	return s
}

// change draws what becomes of some nodes. An open node is below its limit, one at its limit may be at its hard cap.
func (s *situation) change(t *rapid.T) {
	for i := range s.states {
		if rapid.IntRange(0, 2).Draw(t, "kept") == 0 {
			continue
		}

		limit := rapid.Uint32Range(1, 50).Draw(t, "limit")
		cap := rapid.SampledFrom([]uint32{limit, 2 * limit, math.MaxUint32}).Draw(t, "cap")
		state := rapid.SampledFrom([]ring.State{ring.Open, ring.AtLimit, ring.AtLimit, ring.Ineligible}).Draw(t, "state")
		used := rapid.Uint32Range(0, limit-1).Draw(t, "used")

		if state == ring.AtLimit {
			used = rapid.Uint32Range(limit, min(cap, 3*limit)).Draw(t, "used")
		}

		s.set(i, state, policy.Load{InFlight: used, Limit: limit, HardCap: cap}, drawReport(t, s.now))
	}
}

func (s *situation) set(i int, state ring.State, l policy.Load, r policy.Report) {
	s.states[i], s.loads[i], s.reports[i] = state, l, r
	s.policy.SetLoad(i, l)
	s.policy.SetReport(i, r)
	s.policy.SetState(i, state)

	if s.twin != nil {
		s.twin.SetLoad(i, l)
		s.twin.SetReport(i, r)
		s.twin.SetState(i, state)
	}
}

func drawReport(t *rapid.T, now time.Duration) policy.Report {
	part := rapid.Float64Range(0, 1)

	return policy.Report{
		At: now, CPU: part.Draw(t, "cpu"), Memory: part.Draw(t, "memory"), Disk: part.Draw(t, "disk"), Network: part.Draw(t, "network"),
		Active: rapid.Uint32Range(0, 50).Draw(t, "active"), MessagesPerSecond: rapid.Float64Range(0, 1e5).Draw(t, "rate"),
		Response: time.Duration(rapid.IntRange(0, 1e9).Draw(t, "response")), ResponseDeviation: time.Duration(rapid.IntRange(0, 1e9).Draw(t, "deviation")),
		Failures: rapid.Uint32Range(0, 9).Draw(t, "failures"), ConsecutiveFailures: rapid.Uint32Range(0, 3).Draw(t, "consecutive"),
		Pressure: float64(rapid.IntRange(0, 20).Draw(t, "pressure")) / 10,
	}
}

// able says that a message may go to the node at all.
func (s *situation) able(i int) bool {
	return i != ring.NoNode && s.states[i] != ring.Ineligible && s.loads[i].InFlight < s.loads[i].HardCap
}

func (s *situation) pressure(i int) float64 {
	return max(s.reports[i].Pressure, (float64(s.loads[i].InFlight)+1)/float64(s.loads[i].Limit))
}

// judge says what is wrong with a choice; nothing where it keeps the promises that all policies make.
func (s *situation) judge(c ring.Choice, avoid int) string {
	open, able, least := 0, 0, math.Inf(1)

	for i := range s.states {
		if i == avoid || !s.able(i) {
			continue
		}

		able++

		if least = min(least, s.pressure(i)); s.states[i] == ring.Open {
			open++
		}
	}

	switch {
	case able == 0 && s.able(avoid):
		return unless(c.Node == avoid && c.How == ring.BestWeight, "the node given up on is the only one")
	case able == 0:
		return unless(c.Node == ring.NoNode && c.How == ring.None, "no node may take it")
	case c.Node == ring.NoNode || c.Node == avoid || !s.able(c.Node):
		return fmt.Sprintf("%d nodes may take it, not this one", able)
	case s.rule == policy.IgnoreLimits:
		return ""
	case open > 0:
		return unless(s.states[c.Node] == ring.Open && c.How <= ring.Spill, fmt.Sprintf("%d nodes are open", open))
	default:
		return unless(c.How == ring.BestWeight && s.pressure(c.Node) == least, fmt.Sprintf("the best weight is %v", 1-least))
	}
}

func unless(right bool, fault string) string {
	if right {
		return ""
	}

	return fault
}

func drawNodes(t *rapid.T) []ring.Node {
	nodes := make([]ring.Node, rapid.IntRange(0, 12).Draw(t, "nodes"))
	for i := range nodes {
		nodes[i] = ring.Node{ID: fmt.Sprint("processor-", rapid.IntRange(0, 9).Draw(t, "id"), "-", i), Capacity: rapid.SampledFrom([]uint32{50, 100, 150, 400}).Draw(t, "capacity")}
	}

	return nodes
}

func drawQuery(t *rapid.T, nodes int) policy.Query {
	q := policy.SessionQuery(rapid.OneOf(rapid.Uint64Range(0, 2000), rapid.Uint64()).Draw(t, "number"))
	q.Avoid = rapid.IntRange(ring.NoNode, nodes-1).Draw(t, "avoid")

	return q
}

// TestEveryPolicyKeepsThePromises: its choices are a function of its seed and of what it is told, whatever is peeked at; never an
// ineligible node nor one at its hard cap; the node given up on only where there is no other; none only
// when nobody may take it; and with limits respected an open node as long as there is one, then the best weight.
func TestEveryPolicyKeepsThePromises(t *testing.T) {
	for _, name := range allNames() {
		for rule, called := range []string{policy.RespectLimits: "respect", policy.IgnoreLimits: "ignore"} {
			t.Run(name+"/"+called, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { keepPromises(t, name, policy.LimitRule(rule)) })
			})
		}
	}
}

func keepPromises(t *rapid.T, name string, rule policy.LimitRule) {
	nodes := drawNodes(t)

	o := policy.Options{
		Ring: ring.Config{Bits: 8}, Seed: rapid.Uint64().Draw(t, "seed"), Limits: rule, VirtualNodes: rapid.SampledFrom([]int{1, 2, 30}).Draw(t, "virtual"),
	}

	p, err := policy.New(name, nodes, o)
	if err != nil {
		t.Fatal(err)
	}

	s := newSituation(p, rule)
	if s.twin, err = policy.New(name, nodes, o); err != nil {
		t.Fatal(err)
	}

	for range rapid.IntRange(1, 4).Draw(t, "rounds") {
		s.change(t)

		for range rapid.IntRange(1, 10).Draw(t, "picks") {
			policy.Peek(p, drawQuery(t, len(nodes))) // of another message: the twin is not asked

			q := drawQuery(t, len(nodes))
			peeked := policy.Peek(p, q)

			c := p.Pick(q)
			if again := s.twin.Pick(q); again != c || peeked != c {
				t.Fatalf("%+v, peeked at %+v, and of another with the same seed %+v", c, peeked, again)
			}

			if rule == policy.IgnoreLimits && refuses(name) && (c.How == ring.None || c.Node == q.Avoid) {
				continue
			}

			if fault := s.judge(c, q.Avoid); fault != "" {
				t.Fatalf("%+v gets %+v: %s\nstates %v\nloads %+v\npressures %+v", q, c, fault, s.states, s.loads, s.reports)
			}
		}

		s.now += time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second
		p.Tick(s.now)
		s.twin.Tick(s.now)
	}
}

// refuses says that a policy, as printed, names no node, or only the one given up on, where its own rule refuses all others.
func refuses(name string) bool { return name == "z-curve" || name == "availability" }

// TestEveryPolicyTakesAnyNumberOfNodes of which none, one and 1,000 are the ones that break things.
func TestEveryPolicyTakesAnyNumberOfNodes(t *testing.T) {
	for _, name := range allNames() {
		for _, n := range []int{0, 1, 2, 1000} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				p := mustNew(t, name, processors(n), standard())

				for k := range uint64(50) {
					c := p.Pick(policy.SessionQuery(k))

					if n == 0 && (c.Node != ring.NoNode || c.How != ring.None) {
						t.Fatalf("without nodes %+v", c)
					}

					if n > 0 && (c.Node < 0 || c.Node >= n || c.How > ring.Spill) {
						t.Fatalf("with %d idle nodes %+v", n, c)
					}

					p.Tick(time.Duration(k) * 4 * time.Second)
				}

				if n > 1 {
					lastOpen(t, p, n/3)
				}
			})
		}
	}
}

// lastOpen has one node stay open, which then gets everything, and it is then given up on, which leaves the last resort.
func lastOpen(t *testing.T, p policy.Policy, open int) {
	t.Helper()

	for i := range p.Len() {
		if i != open {
			saturate(p, i, ring.AtLimit)
		}
	}

	for k := range uint64(20) {
		q := policy.SessionQuery(k)
		if c := p.Pick(q); c.Node != open || c.How > ring.Spill {
			t.Fatalf("node %d alone is open, yet %+v", open, c)
		}

		q.Avoid = open
		if c := p.Pick(q); c.Node == open || c.How != ring.BestWeight {
			t.Fatalf("the only open node %d is given up on, yet %+v", open, c)
		}
	}
}

// TestHashesDependOnKeyAndStatesAlone: the same question has the same answer again, and from a policy that was made from the nodes in another order and
// came to the same states another way.
func TestHashesDependOnKeyAndStatesAlone(t *testing.T) {
	for _, name := range stickyNames() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				nodes := drawNodes(t)

				o := policy.Options{Ring: ring.Config{Bits: 8}, VirtualNodes: rapid.SampledFrom([]int{1, 2, 30}).Draw(t, "virtual")}

				p, err := policy.New(name, nodes, o)
				if err != nil {
					t.Fatal(err)
				}

				slices.Reverse(nodes)

				o.Seed = 7

				other, err := policy.New(name, nodes, o)
				if err != nil {
					t.Fatal(err)
				}

				s, detour := newSituation(p, policy.RespectLimits), newSituation(other, policy.RespectLimits)
				s.change(t)
				detour.change(t)

				for i := range nodes {
					detour.set(i, s.states[i], s.loads[i], s.reports[i])
				}

				for range 10 {
					q := drawQuery(t, len(nodes))
					first := p.Pick(q)

					if again := p.Pick(q); again != first {
						t.Fatalf("%+v first, then %+v", first, again)
					}

					if detoured := other.Pick(q); detoured != first {
						t.Fatalf("%+v, and by another way %+v", first, detoured)
					}
				}
			})
		})
	}
}

// TestNoMethodButTickAllocates in any of the states that lead a pick through other code.
func TestNoMethodButTickAllocates(t *testing.T) {
	for _, name := range allNames() {
		t.Run(name, func(t *testing.T) {
			p := mustNew(t, name, processors(64, 100, 200), standard())

			for _, c := range []struct {
				called string
				state  func(i int) ring.State
			}{
				{"all open", func(int) ring.State { return ring.Open }},
				{"half at their limit", func(i int) ring.State { return ring.State(i % 2) }},
				{"one open", func(i int) ring.State { return ring.State(min(i, 1)) }},
				{"none open", func(int) ring.State { return ring.AtLimit }},
				{"none eligible", func(int) ring.State { return ring.Ineligible }},
			} {
				for i := range p.Len() {
					saturate(p, i, c.state(i))
				}

				p.Tick(time.Hour)

				k, i := uint64(0), 0
				if n := testing.AllocsPerRun(500, func() {
					k++
					i = (i + 1) % p.Len()
					p.SetLoad(i, policy.Load{InFlight: uint32(k), Limit: 100, HardCap: math.MaxUint32})
					p.SetReport(i, policy.Report{CPU: float64(k%10) / 10, Response: time.Duration(k), Pressure: float64(k%7) / 7})
					p.SetState(i, c.state(i))
					q := policy.SessionQuery(k)
					q.Avoid = i - 1
					p.Pick(q)
				}); n != 0 {
					t.Errorf("%s: %v allocations", c.called, n)
				}
			}
		})
	}
}

func TestSharesOf(t *testing.T) {
	p := mustNew(t, "round-robin", processors(4), standard())
	if got := policy.SharesOf(p, 1000); !slices.Equal(got, []float64{0.25, 0.25, 0.25, 0.25}) {
		t.Errorf("%v", got)
	}

	if got := policy.SharesOf(mustNew(t, "modulo", nil, standard()), 10); len(got) != 0 {
		t.Errorf("without nodes %v", got)
	}
}

// BenchmarkPick is the cost of a pick with all nodes open, the counts brought as at each message.
func BenchmarkPick(b *testing.B) {
	for _, name := range allNames() {
		for _, n := range []int{16, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				p := mustNew(b, name, processors(n), standard())
				for i := range n {
					p.SetReport(i, policy.Report{CPU: 0.3, Memory: 0.2, Response: time.Millisecond, Pressure: 0.4})
				}

				p.Tick(time.Second)
				b.ReportAllocs()

				k := uint64(0)

				for b.Loop() {
					k++
					q := policy.Query{Hash: k * 0x9E3779B97F4A7C15, Number: k & (1<<24 - 1), Source: k & 1023, Avoid: ring.NoNode}
					p.SetLoad(p.Pick(q).Node, policy.Load{InFlight: uint32(k & 7), Limit: 100, HardCap: math.MaxUint32})
				}
			})
		}
	}
}
