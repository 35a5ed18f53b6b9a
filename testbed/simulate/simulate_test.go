package simulate_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// anyConfig draws a short run with all that may go on in one.
func anyConfig(t *rapid.T) simulate.Config {
	names := make([]string, 0, 32)
	for _, d := range policy.List() {
		names = append(names, d.Name)
	}

	c := base(0, 1, 0)
	c.Policy = rapid.SampledFrom(names).Draw(t, "policy")
	c.Options.Limits = policy.LimitRule(rapid.IntRange(0, 1).Draw(t, "limit rule"))
	c.Seed = rapid.Uint64().Draw(t, "seed")
	c.Dispatchers = rapid.IntRange(1, 3).Draw(t, "dispatchers")
	c.Service.Mean = 20 * time.Millisecond
	c.Stations.Count = rapid.IntRange(60, 500).Draw(t, "stations")

	for range rapid.IntRange(1, 5).Draw(t, "nodes") {
		capacity := rapid.IntRange(1, 4).Draw(t, "capacity")
		c.Nodes = append(c.Nodes, simulate.Node{Capacity: uint32(capacity), Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Speed: float64(capacity)})
	}

	c.Arrivals = simulate.Arrivals{
		Rate:  rapid.Float64Range(0.3, 1.5).Draw(t, "load") * c.Capacity(),
		Burst: float64(rapid.IntRange(0, 300).Draw(t, "burst")), BurstAt: time.Second, BurstFor: time.Second,
		Users: rapid.IntRange(0, 50).Draw(t, "users"), Think: 300 * time.Millisecond,
	}
	c.Limits = simulate.Limits{
		PerWorker:    rapid.SampledFrom([]float64{0, 2, 4}).Draw(t, "limit"),
		CapPerWorker: rapid.SampledFrom([]float64{0, 6}).Draw(t, "cap"),
		CPU:          rapid.SampledFrom([]float64{0, 0.75}).Draw(t, "cpu"),
		Hold:         2 * time.Second,
	}
	c.Failure = simulate.Failure{
		Detection: time.Second,
		Deadline:  rapid.SampledFrom([]time.Duration{0, 200 * time.Millisecond}).Draw(t, "deadline"),
	}
	c.Window = rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "window")
	c.Queues = simulate.Queues(rapid.IntRange(0, 1).Draw(t, "queues"))

	if c.Limits.PerWorker > 0 {
		c.Limits.ResponseTarget = rapid.SampledFrom([]time.Duration{0, 30 * time.Millisecond}).Draw(t, "response target")
	}

	c.PickCost = rapid.SampledFrom([]float64{0, 900}).Draw(t, "pick cost")
	c.Hop = rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(t, "hop")
	c.Heartbeat.Every = 300 * time.Millisecond
	c.Duration, c.Warmup = 2500*time.Millisecond, time.Second
	c.MovedSample = 200

	for range rapid.IntRange(0, 4).Draw(t, "events") {
		c.Events = append(c.Events, simulate.Event{
			At:     time.Duration(rapid.Int64Range(0, int64(c.Duration)).Draw(t, "at")),
			Node:   rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "node"),
			Change: simulate.Change(rapid.IntRange(0, 2).Draw(t, "change")),
			Factor: 3,
		})
	}

	return c
}

// Whatever the policy and whatever happens: nothing is lost or doubled by the simulator itself, shares are shares, and the same Config gives the same Result.
func TestConservationAndDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)

		r, err := simulate.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}

		if r.Arrived != r.Served+r.Refused+r.Expired+r.InFlight {
			t.Fatalf("%d arrived, but %d served + %d refused + %d expired + %d in flight", r.Arrived, r.Served, r.Refused, r.Expired, r.InFlight)
		}

		if c.Window > 0 && r.Refused > 0 {
			t.Fatalf("%d refused, with a window they wait", r.Refused)
		}

		for _, share := range []float64{r.SameNode, r.Shed, r.MovedStations, r.MovedIdeal} {
			if !(share >= 0 && share <= 1) {
				t.Fatalf("a share of %v in %+v", share, r)
			}
		}

		if r.Served > 0 && (r.MaxMean < 0.999 || math.IsInf(r.MaxMean, 0)) && r.MaxMean != 0 {
			t.Fatalf("max/mean %v", r.MaxMean)
		}

		again, err := simulate.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}

		if r != again {
			t.Fatalf("the same config gives\n%+v\nand\n%+v", r, again)
		}
	})
}

// Messages of a station stay in order, whatever dies or is late meanwhile.
func TestStationsStayInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		c.Window = rapid.IntRange(2, 5).Draw(t, "messages in flight")
		c.Stations = simulate.Stations{Count: 4}
		c.Arrivals = simulate.Arrivals{Rate: c.Arrivals.Rate}

		if err := simulate.Ordered(c); err != nil {
			t.Fatal(err)
		}
	})
}

// Two policies under one seed have the same messages, whatever their picks are.
func TestPoliciesMeetTheSameMessages(t *testing.T) {
	c := forMessages(base(4, 2, 0.6), 20_000)
	a := run(t, c)
	c.Options.Ring.Bits = 4 // another table, so other picks
	b := run(t, c)

	if a.Arrived != b.Arrived || a.MeanResponse == b.MeanResponse {
		t.Errorf("%d and %d messages, mean response %v and %v: want the same messages, picked otherwise", a.Arrived, b.Arrived, a.MeanResponse, b.MeanResponse)
	}
}

// A node that dies answers nothing; what it had goes to others once that is found out, and nothing is lost.
func TestLostNode(t *testing.T) {
	c := base(4, 2, 0.5)
	c.Stations.Exponent = 0
	c.Events = []simulate.Event{{At: 10 * time.Second, Node: 1, Change: simulate.Lost}}
	c.Duration = 30 * time.Second
	r := run(t, c)

	if r.Moved == 0 || r.Refused+r.Expired != 0 || r.InFlight > 100 {
		t.Errorf("moved %d, refused %d, expired %d, in flight %d: want some moved, none shed, few in flight", r.Moved, r.Refused, r.Expired, r.InFlight)
	}

	// All messages of 4 s to a quarter of the nodes waited for the detection: some 800/s / 4 * 4 s.
	if r.Moved < 600 || r.Moved > 1000 {
		t.Errorf("%d attempts moved, want some 800", r.Moved)
	}

	if r.P99 < 100 { // 4 s are 800 service times; at least one in 100 of 30 s waited more than half of it
		t.Errorf("p99 %.1f service times, want more than 100: detection takes 4 s", r.P99)
	}

	c.Failure.Deadline = 50 * time.Millisecond
	if q := run(t, c); q.P99 > r.P99/2 {
		t.Errorf("p99 %.1f service times with a deadline, %.1f without: want less than half", q.P99, r.P99)
	}

	if r.MovedIdeal != 0.25 || math.Abs(r.MovedStations/0.25-1) > 0.15 {
		t.Errorf("%.3f of the stations moved, want 0.25 within 15 %%; ideal %v", r.MovedStations, r.MovedIdeal)
	}
}

// A node that comes takes its share once its first heartbeat is there; one that comes back within the detection time loses what it had.
func TestAddedNode(t *testing.T) {
	c := base(2, 2, 1.2)
	c.Nodes[1].Absent = true
	c.Events = []simulate.Event{{At: 5 * time.Second, Node: 1, Change: simulate.Added}}
	c.Arrivals.Rate /= 2
	c.Duration = 60 * time.Second
	c.Warmup = 10 * time.Second

	if r := run(t, c); r.Spread > 0.2 || r.Shed != 0 || r.MovedIdeal != 0.5 {
		t.Errorf("spread %.3f, shed %v, ideal %v: want both nodes equally used, none shed, 0.5", r.Spread, r.Shed, r.MovedIdeal)
	}

	c = base(2, 2, 0.5)
	c.Events = []simulate.Event{
		{At: 5 * time.Second, Node: 1, Change: simulate.Lost},
		{At: 6 * time.Second, Node: 1, Change: simulate.Added},
	}
	c.Duration = 20 * time.Second

	if r := run(t, c); r.Moved < 150 || r.Moved > 300 || r.InFlight > 50 {
		t.Errorf("%d moved, %d in flight: want the 200 messages of one second moved, few in flight", r.Moved, r.InFlight)
	}
}

// A slowed node answers later; the work of messages is what it was.
func TestSlowedNode(t *testing.T) {
	c := base(1, 1, 0.3)
	c.Events = []simulate.Event{{Node: 0, Change: simulate.Slowed, Factor: 2}}

	r := run(t, forMessages(c, 200_000))
	if want := 2 / (1 - 0.6); math.Abs(r.MeanResponse/want-1) > 0.04 {
		t.Errorf("mean response %.3f, want M/M/1's %.3f at twice the service time", r.MeanResponse, want)
	}
}

// Nodes past their CPU threshold are at their limit as soon as a report says so, and no longer than they have to be.
func TestReportsHoldNodes(t *testing.T) {
	c := base(2, 2, 0.2)
	c.Limits.CPU = 0.5
	c.Events = []simulate.Event{
		{At: 10 * time.Second, Node: 0, Change: simulate.Slowed, Factor: 5}, // 0.2 becomes 1
		{At: 20 * time.Second, Node: 0, Change: simulate.Slowed, Factor: 1},
	}
	c.Warmup, c.Duration = 12*time.Second, 40*time.Second

	if r := run(t, c); r.MaxMean < 1.99 {
		t.Errorf("max/mean %.3f over the time that node 0 is held, want 2: it takes none", r.MaxMean)
	}

	c.Warmup, c.Duration = 45*time.Second, 70*time.Second
	if r := run(t, c); r.MaxMean > 1.2 {
		t.Errorf("max/mean %.3f after the 30 s that it is held, want both used", r.MaxMean)
	}
}

// A node that is held is open again well under its thresholds, not just under them, as with dispatchers, and not before its time.
func TestHeldNodesOpenWellUnderTheirThresholds(t *testing.T) {
	l := simulate.Limits{CPU: 0.5, Memory: 0.8, Hold: 2 * time.Second}
	cpu := func(part float64) policy.Report { return policy.Report{CPU: part, Memory: 0.1} }

	got := simulate.Held(l, cpu(0.49), cpu(0.5), cpu(0.1), cpu(0.46), policy.Report{CPU: 0.1, Memory: 0.73}, cpu(0.44), cpu(0.6), cpu(0.6))
	if want := []bool{false, true, true, true, true, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("held %v, want %v", got, want)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := simulate.Run(ctx, forMessages(base(2, 1, 0.5), 200_000)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}

	if _, err := simulate.MeasurePick(ctx, forMessages(base(2, 1, 0.5), 200_000)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// The cost of a pick can be measured whatever a policy goes by, also where nodes are at their limit.
func TestMeasurePick(t *testing.T) {
	c := forMessages(base(4, 2, 0.5), 50_000)
	c.Limits = simulate.Limits{PerWorker: 1, CapPerWorker: 2}

	for _, name := range []string{policy.Default, "paper", "drf", "even-ring"} {
		c.Policy = name

		cost, err := simulate.MeasurePick(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}

		if cost <= 0 {
			t.Errorf("%s: %v ns", name, cost)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	c := base(2, 1, 0.5)
	c.Policy = "no-such"
	c.Nodes[1].Speed = 0
	c.Stations.Exponent = math.NaN()
	c.Arrivals.Rate = math.Inf(1)
	c.Limits.PerWorker = -1
	c.Warmup = time.Hour
	c.Events = []simulate.Event{{Node: 2}}
	_, err := simulate.Run(t.Context(), c)

	for _, want := range []string{"no-such", "nodes[1]", "stations.exponent", "arrivals", "limits", "duration", "warmup", "events[0].node"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %s: %v", want, err)
		}
	}
}

// Messages gives those of the run: their number, and on nodes with room for all, their work as the mean response.
func TestMessagesAreThoseOfTheRun(t *testing.T) {
	c := forMessages(base(3, 10_000, 0.001), 20_000)
	c.Warmup = 0
	c.Stations.Spacing = 7
	r := run(t, c)

	var (
		n    uint64
		work time.Duration
		last time.Duration
	)

	for m := range simulate.Messages(c) {
		n++
		work += m.Work

		if m.At < last || m.At > c.Duration || m.Station%7 != 0 || m.Station < 7 || m.Station > 70_000 {
			t.Fatalf("message %+v after %v", m, last)
		}

		last = m.At
	}

	mean := work.Seconds() / float64(n) / c.Service.Mean.Seconds()
	if n != r.Arrived || math.Abs(mean-r.MeanResponse) > 5e-3 /* some are in flight at the end */ {
		t.Errorf("%d messages of %.5f service times, but %d came and took %.5f", n, mean, r.Arrived, r.MeanResponse)
	}
}

// More room is never worse at one node, and a cap bounds what a message waits: nobody waits behind more than cap - 1 others.
func TestCapBoundsTheResponse(t *testing.T) {
	c := base(1, 1, 3)
	c.Service.Law = simulate.Deterministic
	c.Limits = simulate.Limits{PerWorker: 4, CapPerWorker: 4}

	r := run(t, forMessages(c, 20_000))
	if r.P99 > 4.01 || r.P99 < 3 || math.Abs(r.Shed-2.0/3) > 0.01 {
		t.Errorf("p99 %.3f service times, shed %.4f: want at most 4, two thirds", r.P99, r.Shed)
	}
}
