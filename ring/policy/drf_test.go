package policy_test

import (
	"strings"
	"testing"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

// five is a policy over five nodes that reported active requests and response times and ticked once.
//
//	           a      b      c      d      e     mean  sd
//	active     5      3      1      4      7     4     2
//	z          0.5   -0.5   -1.5    0      1.5
//	share      0.25   0.15   0.05   0.2    0.35
//	response  20     50     20     55     10     31    18
//	z         -0.611  1.056 -0.611  1.333 -1.167
//	share      0.129  0.323  0.129  0.355  0.065
//	dominant   active resp.  resp.  resp.  active
func five(t *testing.T, name string, needs policy.Needs) *bench {
	t.Helper()

	b := newBench(t, name, policy.Options{Seed: 3, Needs: needs}, 1, 1, 1, 1, 1)

	active, response := []uint32{5, 3, 1, 4, 7}, []int{20, 50, 20, 55, 10}
	for i := range active {
		b.SetReport(i, policy.Report{Active: active[i], Response: time.Duration(response[i]) * time.Millisecond})
	}

	b.Tick(0)

	return b
}

func TestDRFWeights(t *testing.T) {
	t.Parallel()

	// 1/2 and 1/8: 0.174, 0.465, -0.493, 0.667, 0.604.
	same(t, "drf", five(t, "drf", policy.Needs{}).order(), "cabed")
	// 1/2 and 1: -0.361, 0.028, -1.806, 0.667, -0.417.
	same(t, "drf-half", five(t, "drf-half", policy.Needs{}).order(), "ceabd")
	// 12 and 1: 5.389, 12.167, -8.833, 16, 16.833.
	same(t, "drf-12", five(t, "drf-12", policy.Needs{}).order(), "cabde")
}

// experts are needs in which every node's dominant factor is the given one.
func experts(dominant string) policy.Needs {
	n := policy.Needs{Totals: map[string]float64{}, Nodes: map[string]map[string]float64{}}

	for _, f := range policy.Factors() {
		n.Totals[f] = 100
	}

	for _, id := range []string{"a", "b", "c", "d", "e"} {
		n.Nodes[id] = map[string]float64{}
		for _, f := range policy.Factors() {
			n.Nodes[id][f] = 1
		}

		n.Nodes[id][dominant] = 2
	}

	return n
}

func TestDRFNeeds(t *testing.T) {
	t.Parallel()

	// Active requests 1/2, response 1/8: 0.174, -0.118, -0.826, 0.167, 0.604.
	same(t, "active requests dominate", five(t, "drf", experts("active-requests")).order(), "cbdae")
	// The other way round: -0.243, 0.465, -0.493, 0.667, -0.396.
	same(t, "response dominates", five(t, "drf", experts("response")).order(), "ceabd")

	// Of equal shares the first: failures, in which all are alike. The others 1/8: -0.014, 0.069, -0.264, 0.167, 0.042.
	alike := experts("response")
	for _, n := range alike.Nodes {
		n["response"] = 1
	}

	same(t, "all shares are alike", five(t, "drf", alike).order(), "caebd")
}

// Each factor counts by itself, and the less of it the better; one in which all nodes are alike counts nothing.
func TestDRFFactors(t *testing.T) {
	t.Parallel()

	for name, r := range map[string]policy.Report{
		"failures":             {Failures: 1},
		"active requests":      {Active: 1},
		"consecutive failures": {ConsecutiveFailures: 1},
		"deviation":            {ResponseDeviation: time.Millisecond},
		"response":             {Response: time.Millisecond},
	} {
		for _, policyName := range []string{"drf", "drf-half", "drf-12"} {
			b := newBench(t, policyName, policy.Options{}, 1, 1, 1)
			b.SetReport(0, r)
			b.SetReport(1, policy.Report{})
			b.SetReport(2, policy.Report{})
			b.Tick(0)
			same(t, policyName+", "+name, b.order(), "bca")
		}
	}
}

// Of seven, four are the better half: 2(h-r+1)/(h(h+1)) is 8/20, 6/20, 4/20 and 2/20.
func TestDRFDraw(t *testing.T) {
	t.Parallel()

	b := newBench(t, "drf", policy.Options{Seed: 3}, 1, 1, 1, 1, 1, 1, 1)
	for i, n := range []uint32{3, 1, 2, 4, 5, 6, 7} {
		b.SetReport(i, policy.Report{Active: n})
	}

	shareNear(t, b, 100./7, 100./7, 100./7, 100./7, 100./7, 100./7, 100./7) // not ranked yet
	b.Tick(0)
	shareNear(t, b, 20, 40, 30, 10, 0, 0, 0)

	// The best at its limit: three of six.
	b.SetState(1, ring.AtLimit)
	shareNear(t, b, 100*2./6, 0, 100*3./6, 100*1./6, 0, 0, 0)

	// And one to avoid: three of five.
	for range 100 {
		if c := b.Pick(policy.Query{Avoid: 2}); c.Node == 2 || c.Node == 5 {
			t.Fatalf("got %+v while a, d and e are the better half", c)
		}
	}

	b.SetState(1, ring.Open)
	shareNear(t, b, 20, 40, 30, 10, 0, 0, 0)
}

func TestDRFRefresh(t *testing.T) {
	t.Parallel()

	report := func(b *bench, active ...uint32) {
		for i, n := range active {
			b.SetReport(i, policy.Report{Active: n})
		}
	}

	b := newBench(t, "drf", policy.Options{}, 1, 1, 1)
	report(b, 1, 2)
	b.Tick(time.Second)
	report(b, 1, 2, 3)
	b.Tick(2 * time.Second)
	same(t, "once all have reported", b.order(), "abc")

	report(b, 3, 2, 1)
	b.Tick(301 * time.Second)
	same(t, "not within 5 min", b.order(), "abc")
	b.Tick(302 * time.Second)
	same(t, "but then", b.order(), "cba")

	// One that never reports is waited for one interval, one that may not be asked not at all.
	b = newBench(t, "drf", policy.Options{Interval: time.Minute}, 1, 1, 1)
	report(b, 2, 1)
	b.Tick(0)
	b.Tick(time.Minute)
	same(t, "c never reported", b.order(), "cba")

	b = newBench(t, "drf", policy.Options{}, 1, 1, 1)
	b.SetState(2, ring.Ineligible)
	report(b, 2, 1)
	b.Tick(0)
	same(t, "c starts", b.picks(3), "bbb")
}

func TestDRFNeedsRefused(t *testing.T) {
	t.Parallel()

	nodes := []ring.Node{{ID: "a", Capacity: 1}}

	for _, c := range []struct {
		spoil func(n policy.Needs)
		want  string
	}{
		{func(n policy.Needs) { delete(n.Nodes, "a") }, `node "a": failures is missing`},
		{func(n policy.Needs) { delete(n.Nodes["a"], "response") }, `node "a": response is missing`},
		{func(n policy.Needs) { n.Nodes["a"]["response"] = -1 }, `node "a": response is -1: want a number from 0 on`},
		{func(n policy.Needs) { n.Nodes["a"]["speed"] = 1 }, `node "a": "speed" is no factor: failures, active-requests`},
		{func(n policy.Needs) { n.Totals["failures"] = 0 }, `node "a": failures is 1 of a total of 0`},
		{func(n policy.Needs) { delete(n.Totals, "failures") }, `totals: failures is missing`},
	} {
		n := experts("response")
		c.spoil(n)

		_, err := policy.New("drf-12", nodes, policy.Options{Ring: ring.DefaultConfig(), Needs: n})
		if err == nil || !strings.HasPrefix(err.Error(), "policy drf-12: ") || !strings.Contains(err.Error(), "needs: "+c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
