package routing_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

// reporter is a core with nodes that report what a test wants.
type reporter struct {
	core  *routing.Core
	now   time.Duration
	beats uint64
	sent  uint64
}

func newReporter(t *testing.T, cfg routing.Config, nodes int) *reporter {
	t.Helper()

	r := &reporter{core: routing.New(cfg, 1)}
	for i := range nodes {
		r.beat(i, bus.Heartbeat{})
	}

	r.place(t)

	return r
}

func (r *reporter) place(t *testing.T) {
	t.Helper()

	members, wanted := r.core.PolicyWanted()
	if !wanted {
		return
	}

	p, err := policy.New(policy.Default, members, policy.Options{Ring: ring.Config{Bits: 8}})
	if err != nil {
		t.Fatal(err)
	}

	r.core.SetPolicy(r.now, p)
}

// beat sends what node i reports.
func (r *reporter) beat(i int, h bus.Heartbeat) {
	r.beats++
	h.ID, h.Sequence, h.State = fmt.Sprintf("n%02d", i), r.beats, bus.Ready
	h.Incarnation, h.Capacity = max(h.Incarnation, uint64(i+1)), max(h.Capacity, 100)
	r.core.Heartbeat(r.now, h)
}

// pass lets time go by as it does for a core: in small steps.
func (r *reporter) pass(d time.Duration) {
	for end := r.now + d; r.now < end; {
		r.now = min(r.now+50*time.Millisecond, end)
		r.core.Tick(r.now)
	}
}

func (r *reporter) node(i int) routing.NodeStats { return r.core.Stats().Nodes[i] }

// submit takes a message under a key of its own.
func (r *reporter) submit() {
	r.sent++
	k := fmt.Appendf(nil, "key %d", r.sent)
	r.core.Submit(r.now, &routing.Message{Epoch: 1, Sequence: r.sent, Key: k, Hash: xxh3.Hash(k)})
}

// A node at its CPU or memory threshold is at its limit from that heartbeat on, and says why.
func TestNodesAtAThreshold(t *testing.T) {
	for _, c := range []struct {
		cpu, memory float64
		status      routing.Status
		reason      string
	}{
		{0, 0, routing.Open, ""},
		{0.7499, 0.8999, routing.Open, ""},
		{0.75, 0, routing.AtLimit, "CPU 75 % over 75 %"},
		{0.82, 0.5, routing.AtLimit, "CPU 82 % over 75 %"},
		{0, 0.9, routing.AtLimit, "memory 90 % over 90 %"},
		{0.76, 1, routing.AtLimit, "memory 100 % over 90 %"},
		{1.5, 0.91, routing.AtLimit, "CPU 150 % over 75 %"},
	} {
		r := newReporter(t, testConfig(), 2)
		r.beat(0, bus.Heartbeat{CPU: c.cpu, Memory: c.memory})

		n := r.node(0)
		if n.Status != c.status || n.Reason != c.reason {
			t.Errorf("CPU %v, memory %v: %s, %q; want %s, %q", c.cpu, c.memory, n.Status, n.Reason, c.status, c.reason)
		}

		for range 5 { // the other one has room for six
			r.submit()
		}

		if got := r.node(0).InFlight; c.status == routing.AtLimit && got != 0 {
			t.Errorf("CPU %v, memory %v: got %d messages with the other node open", c.cpu, c.memory, got)
		}
	}
}

// Thresholds of 0 are none.
func TestThresholdsSwitchedOff(t *testing.T) {
	cfg := testConfig()
	cfg.CPUThreshold, cfg.MemoryThreshold, cfg.RateThreshold = 0, 0, 0

	r := newReporter(t, cfg, 1)
	r.beat(0, bus.Heartbeat{CPU: 1, Memory: 1, MessagesPerSecond: 100_000})

	if n := r.node(0); n.Status != routing.Open || math.Abs(n.Weight-(1-1./6)) > 1e-9 {
		t.Errorf("%s, weight %v: only messages in flight weigh", n.Status, n.Weight)
	}
}

// A node stays at its limit until it is well under the threshold and the hysteresis is over, and
// says what it waits for.
func TestNodesOpenAgain(t *testing.T) {
	r := newReporter(t, testConfig(), 2)
	report := func(after time.Duration, cpu float64, status routing.Status, reason string) {
		t.Helper()

		for ; after > 0; after -= time.Second {
			r.pass(min(time.Second, after))
			r.beat(1, bus.Heartbeat{})
			r.beat(0, bus.Heartbeat{CPU: cpu})
		}

		if n := r.node(0); n.Status != status || n.Reason != reason {
			t.Errorf("at %s: %s, %q; want %s, %q", r.now, n.Status, n.Reason, status, reason)
		}
	}

	report(time.Second, 0.8, routing.AtLimit, "CPU 80 % over 75 %")
	report(10*time.Second, 0.2, routing.AtLimit, "CPU 20 %, open again in 20.0 s")
	report(20*time.Second, 0.7, routing.AtLimit, "CPU 70 %, open again under 67.5 %")
	report(time.Second, 0.67, routing.Open, "")
	report(time.Second, 0.99, routing.Open, "") // not again so soon
	report(29*time.Second, 0.99, routing.AtLimit, "CPU 99 % over 75 %")
}

// Whatever a node reports and however often it starts, its state changes by CPU and memory at most once in the hysteresis.
func TestStateChangesByReportsAreRare(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := testConfig()
		cfg.Hysteresis = rapid.SampledFrom([]time.Duration{30 * time.Second, 5 * time.Second}).Draw(rt, "hysteresis")

		var (
			r           = newReporter(t, cfg, 1)
			incarnation = uint64(1)
			limited     bool
			changed     = -cfg.Hysteresis
			clock       time.Duration
			part        = rapid.Float64Range(0, 1.2)
		)

		look := func() {
			is := strings.Contains(r.node(0).Reason, "CPU") || strings.Contains(r.node(0).Reason, "memory")
			if r.node(0).Status != routing.Open && r.node(0).Status != routing.AtLimit || is == limited {
				return
			}

			if clock-changed < cfg.Hysteresis {
				rt.Fatalf("changed at %s and at %s", changed, clock)
			}

			limited, changed = is, clock
		}

		rt.Repeat(map[string]func(*rapid.T){
			"beat": func(t *rapid.T) {
				r.beat(0, bus.Heartbeat{Incarnation: incarnation, CPU: part.Draw(t, "cpu"), Memory: part.Draw(t, "memory")})
			},
			"edge": func(t *rapid.T) {
				r.beat(0, bus.Heartbeat{Incarnation: incarnation, CPU: rapid.SampledFrom([]float64{0.6749, 0.675, 0.7499, 0.75}).Draw(t, "cpu")})
			},
			"restart": func(*rapid.T) {
				incarnation++
				r.beats = 0
				r.beat(0, bus.Heartbeat{Incarnation: incarnation, CPU: 0.5})
			},
			"time": func(t *rapid.T) {
				for d := time.Duration(rapid.IntRange(1, 8000).Draw(t, "ms")) * time.Millisecond; d > 0; d -= 50 * time.Millisecond {
					r.pass(min(d, 50*time.Millisecond))
					clock += min(d, 50*time.Millisecond)
				}
			},
			"": func(*rapid.T) { look() },
		})
	})
}

// The weight of a node is that of what it has least of left.
func TestWeightIsOfTheDominantResource(t *testing.T) {
	for _, c := range []struct {
		name string
		h    bus.Heartbeat
		want float64
	}{
		{"idle, one of six messages", bus.Heartbeat{}, 1 - 1./6},
		{"half of the CPU threshold", bus.Heartbeat{CPU: 0.375, Memory: 0.2}, 0.5},
		{"at the memory threshold", bus.Heartbeat{CPU: 0.375, Memory: 0.9}, 0},
		{"twice its capacity", bus.Heartbeat{Capacity: 500, MessagesPerSecond: 1000}, -1},
		{"three times the response target", bus.Heartbeat{ResponseMicros: 300_000}, -2},
	} {
		r := newReporter(t, testConfig(), 1)
		r.beat(0, c.h)

		if got := r.node(0).Weight; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// With all nodes at their limit by CPU the best weight is the last resort, and bound keys go on; nodes that
// are ineligible get nothing.
func TestAllNodesAtTheirThreshold(t *testing.T) {
	r := newReporter(t, testConfig(), 3)
	r.beat(0, bus.Heartbeat{CPU: 1})
	r.beat(1, bus.Heartbeat{CPU: 0.8})
	r.core.NoResponders(r.now, "n02")

	const key = "key"

	for sequence := range uint64(4) {
		r.core.Submit(r.now, &routing.Message{Epoch: 1, Sequence: sequence + 1, Key: []byte(key), Hash: xxh3.HashString(key)})
	}

	if got := [3]int{r.node(0).InFlight, r.node(1).InFlight, r.node(2).InFlight}; got != [3]int{0, 4, 0} {
		t.Errorf("in flight %v, want all four at the second node", got)
	}
}

// Without a hard cap the last resort takes whatever comes.
func TestNoHardCap(t *testing.T) {
	cfg := testConfig()
	cfg.HardCap, cfg.MaxBytesPerNode = 0, 1<<20

	r := newReporter(t, cfg, 2)
	for range 1000 {
		r.submit()
	}

	s := r.core.Stats()
	if s.Waiting != 0 || s.Nodes[0].InFlight+s.Nodes[1].InFlight != 1000 || s.Nodes[0].HardCap != 0 {
		t.Errorf("%d wait, %+v", s.Waiting, s.Nodes)
	}

	if d := s.Nodes[0].InFlight - s.Nodes[1].InFlight; d < -1 || d > 1 {
		t.Errorf("in flight %d and %d: the best weight has fewer", s.Nodes[0].InFlight, s.Nodes[1].InFlight)
	}
}
