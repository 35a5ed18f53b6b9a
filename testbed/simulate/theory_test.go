package simulate_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// base is one run of n equal nodes without limits.
func base(nodes, workers int, load float64) simulate.Config {
	c := simulate.Config{
		Policy:      policy.Default,
		Options:     policy.Options{Ring: ring.DefaultConfig()},
		Seed:        1,
		Dispatchers: 1,
		Service:     simulate.Service{Law: simulate.Exponential, Mean: 5 * time.Millisecond},
		Stations:    simulate.Stations{Count: 10_000, Exponent: 0.8},
		Heartbeat:   simulate.Heartbeat{Jitter: 0.1, Delay: 20 * time.Millisecond},
	}
	for range nodes {
		c.Nodes = append(c.Nodes, simulate.Node{Capacity: 1, Workers: workers, Speed: 1})
	}

	c.Arrivals.Rate = load * c.Capacity()

	return c
}

// forMessages sets the duration so that about n messages count.
func forMessages(c simulate.Config, n float64) simulate.Config {
	seconds := n / c.Arrivals.Rate
	c.Warmup = time.Duration(seconds * 0.05 * 1e9)
	c.Duration = time.Duration(seconds * 1.05 * 1e9)

	return c
}

func run(t *testing.T, c simulate.Config) simulate.Result {
	t.Helper()

	r, err := simulate.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

// queueing is the mean response of M/M/c in service times, by Erlang's C formula.
func queueing(c int, load float64) float64 {
	a := load * float64(c)
	b := 1.0 // Erlang B by its recursion

	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}

	wait := b / (1 - load*(1-b)) // Erlang C

	return 1 + wait/(float64(c)*(1-load))
}

func TestOneNodeIsMMc(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 2, 8} {
		for _, load := range []float64{0.5, 0.7, 0.9} {
			if workers == 2 && load > 0.8 {
				continue // between the others
			}

			t.Run(fmt.Sprintf("c=%d,load=%v", workers, load), func(t *testing.T) {
				t.Parallel()

				messages := 100_000.0
				if load > 0.8 { // long busy periods, the longer the fewer workers there are: neighbours tell the same
					messages += 1_100_000 / float64(workers)
				}

				r := run(t, forMessages(base(1, workers, load), messages))
				if want := queueing(workers, load); math.Abs(r.MeanResponse/want-1) > 0.05 {
					t.Errorf("mean response %.3f service times, want %.3f within 5 %%", r.MeanResponse, want)
				}

				if math.Abs(r.Throughput/r.ArrivalRate-1) > 0.01 || r.Shed != 0 || r.SameNode != 1 {
					t.Errorf("throughput %.1f of %.1f/s, shed %v, same node %v", r.Throughput, r.ArrivalRate, r.Shed, r.SameNode)
				}
			})
		}
	}
}

// M/M/1's response is exponential: its 99 % quantile is ln 100 times its mean.
func TestQuantileOfMM1(t *testing.T) {
	r := run(t, forMessages(base(1, 1, 0.6), 150_000))
	if want := math.Log(100) / 0.4; math.Abs(r.P99/want-1) > 0.05 {
		t.Errorf("p99 %.2f service times, want %.2f within 5 %%", r.P99, want)
	}
}

// M/G/1 by Pollaczek and Khinchine, for service times without and with much variation.
func TestOneNodeIsMG1(t *testing.T) {
	const load = 0.7

	for _, s := range []simulate.Service{
		{Law: simulate.Deterministic, Mean: 5 * time.Millisecond},
		{Law: simulate.Lognormal, Mean: 5 * time.Millisecond, Variation: 1.5},
	} {
		c := base(1, 1, load)
		c.Service = s
		r := run(t, forMessages(c, 150_000))

		want := 1 + load*(1+s.Variation*s.Variation)/2/(1-load)
		if math.Abs(r.MeanResponse/want-1) > 0.06 {
			t.Errorf("law %d: mean response %.3f, want %.3f within 6 %%", s.Law, r.MeanResponse, want)
		}
	}
}

// M/M/1/K sheds (1-a)a^K/(1-a^(K+1)) of what comes, also where more comes than it can do.
func TestCapIsMM1K(t *testing.T) {
	for _, load := range []float64{0.9, 1.3} {
		c := base(1, 1, load)
		c.Limits = simulate.Limits{PerWorker: 2, CapPerWorker: 5}
		r := run(t, forMessages(c, 100_000))

		want := (1 - load) * math.Pow(load, 5) / (1 - math.Pow(load, 6))
		if math.Abs(r.Shed/want-1) > 0.04 {
			t.Errorf("load %v: shed %.4f, want %.4f within 4 %%", load, r.Shed, want)
		}
	}
}

// Little's law: time average in the system = rate times response, with a dispatcher that takes its time, hops and several nodes.
func TestLittlesLaw(t *testing.T) {
	c := base(4, 2, 0.8)
	c.PickCost = 100_000
	c.Hop = time.Millisecond
	c.Dispatchers = 3
	r := run(t, forMessages(c, 100_000))

	want := r.ArrivalRate * r.MeanResponse * c.Service.Mean.Seconds()
	if math.Abs(r.MeanInSystem/want-1) > 0.01 {
		t.Errorf("%.3f messages in the system, want %.3f within 1 %%", r.MeanInSystem, want)
	}
}

// A dispatcher that takes as long as a node is a queue before it: M/D/1 and then, at nodes with much room, one service time.
func TestDispatcherIsAQueue(t *testing.T) {
	c := base(1, 200, 0.01)
	c.PickCost = 0.6 * 1e9 / c.Arrivals.Rate // load 0.6 of the dispatcher
	r := run(t, forMessages(c, 100_000))

	pick := c.PickCost / float64(c.Service.Mean)
	if want := 1 + pick*(1+0.6/2/0.4); math.Abs(r.MeanResponse/want-1) > 0.02 {
		t.Errorf("mean response %.4f, want %.4f within 2 %%", r.MeanResponse, want)
	}
}

// In a closed loop, U users share one worker as a machine-repair model has it: M/M/1//U.
func TestClosedLoopIsMachineRepair(t *testing.T) {
	const users, ratio = 20, 15.0 // think times per service time

	c := base(1, 1, 0)
	c.Arrivals = simulate.Arrivals{Users: users, Think: time.Duration(ratio) * c.Service.Mean}
	c.Duration, c.Warmup = 2000*time.Second, 20*time.Second
	r := run(t, c)

	// The weight of k users at the node is U!/(U-k)! / ratio^k.
	weight, sum := 1.0, 1.0
	for k := range users {
		weight *= float64(users-k) / ratio
		sum += weight
	}

	rate := (1 - 1/sum) / c.Service.Mean.Seconds()
	if math.Abs(r.Throughput/rate-1) > 0.01 {
		t.Errorf("throughput %.2f/s, want %.2f/s within 1 %%", r.Throughput, rate)
	}

	if want := users/(rate*c.Service.Mean.Seconds()) - ratio; math.Abs(r.MeanResponse/want-1) > 0.03 {
		t.Errorf("mean response %.3f, want %.3f within 3 %%", r.MeanResponse, want)
	}
}

// A burst brings its messages, 3GPP's peak of 0.2074/s at 4 s included.
func TestBurstIsBeta(t *testing.T) {
	c := base(1, 10_000, 0)
	c.Arrivals = simulate.Arrivals{Burst: 30_000, BurstAt: 5 * time.Second, BurstFor: 10 * time.Second}
	c.Duration = 20 * time.Second

	if r := run(t, c); math.Abs(float64(r.Arrived)/30_000-1) > 0.02 {
		t.Errorf("%d messages came, want 30,000 within 2 %%", r.Arrived)
	}

	c.Warmup, c.Duration = 8500*time.Millisecond, 9500*time.Millisecond // 3.5 to 4.5 s into it
	if r := run(t, c); math.Abs(r.ArrivalRate/6221-1) > 0.05 {
		t.Errorf("%.0f/s come at the peak, want 6221/s within 5 %%", r.ArrivalRate)
	}
}

// With a queue for each worker, and stations enough for chance, a node of c workers is c times M/M/1.
func TestQueuePerWorkerIsManyMM1(t *testing.T) {
	c := base(1, 4, 0.6)
	c.Stations = simulate.Stations{Count: 1_000_000}
	c.Queues = simulate.QueuePerWorker

	r := run(t, forMessages(c, 200_000))
	if want := 1 / (1 - 0.6); math.Abs(r.MeanResponse/want-1) > 0.05 {
		t.Errorf("mean response %.3f service times, want M/M/1's %.3f within 5 %%; with one queue it is %.3f", r.MeanResponse, want, queueing(4, 0.6))
	}
}

// One station is at one node at a time with a window, so that four nodes in turns are M/M/1 to it; without a window they are not.
func TestWindowKeepsAStationAtOneNode(t *testing.T) {
	c := base(4, 1, 0.15)
	c.Policy = "round-robin"
	c.Stations.Count = 1

	for _, window := range []int{1, 8} {
		c.Window = window

		r := run(t, forMessages(c, 150_000))
		if want := 1 / (1 - 0.6); math.Abs(r.MeanResponse/want-1) > 0.05 {
			t.Errorf("window %d: mean response %.3f service times, want M/M/1's %.3f within 5 %%", window, r.MeanResponse, want)
		}

		// A message overlaps the one before unless it finds nobody, and then goes to the next node.
		if math.Abs(r.Overlapping-0.6) > 0.01 || r.SameNodeAlone != 0 || math.Abs(r.SameNode-r.Overlapping) > 1e-9 {
			t.Errorf("window %d: %.3f overlap, same node %.3f, of the others %.3f: want 0.6, 0.6, 0", window, r.Overlapping, r.SameNode, r.SameNodeAlone)
		}
	}

	c.Window = 0
	if r := run(t, forMessages(c, 50_000)); r.MeanResponse > 1.3 || r.SameNode != 0 || r.Overlapping != 0 {
		t.Errorf("without a window: mean response %.3f, same node %v, overlapping %v", r.MeanResponse, r.SameNode, r.Overlapping)
	}
}

// A limit that follows the response keeps the nodes' queues about as long as the target has it where more comes than they can do: the rest waits at the dispatcher.
func TestLimitsFollowTheResponse(t *testing.T) {
	c := base(2, 4, 1.3)
	c.Policy = "least-connections"
	c.Limits = simulate.Limits{PerWorker: 64, CapPerWorker: 128}
	c.Duration, c.Warmup = 20*time.Second, 10*time.Second
	fixed := run(t, c)

	c.Limits.ResponseTarget = 50 * time.Millisecond

	// At the target 4 workers of 5 ms have 40 in flight, and twice that is the limit's least: 128 of the hard cap of 4 * 128 = 512, which take 160 ms.
	adapted := run(t, c)
	if want := 32.0; math.Abs(adapted.MeanResponse/want-1) > 0.3 || fixed.MeanResponse < 3*adapted.MeanResponse {
		t.Errorf("mean response %.1f service times, %.1f with fixed limits: want about %.0f, and over 3 times that", adapted.MeanResponse, fixed.MeanResponse, want)
	}
}
