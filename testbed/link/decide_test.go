package link_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/testbed/link"
)

// terms draws a direction that passes Validate, with rate or without.
func terms(t *rapid.T, rate int64) link.Direction {
	d := link.Direction{
		Delay:     time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "delay")),
		Loss:      rapid.Float64Range(0, 1).Draw(t, "loss"),
		Duplicate: rapid.Float64Range(0, 1).Draw(t, "duplicate"),
		Reorder:   rapid.Float64Range(0, 1).Draw(t, "reorder"),
		ReorderBy: time.Duration(rapid.Int64Range(1000, int64(time.Second)).Draw(t, "reorderBy")),
		Rate:      rate, Queue: 1 << 16,
	}
	d.Jitter = time.Duration(rapid.Int64Range(0, int64(d.Delay)).Draw(t, "jitter"))
	if rapid.Bool().Draw(t, "outage") {
		d.Outages = []link.Outage{{From: 2 * time.Second, For: time.Second}}
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

// sent draws the packets of some clients in the order in which they come.
type sent struct {
	client uint64
	size   int
	at     time.Duration
}

func packets(t *rapid.T) []sent {
	at := time.Duration(0)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sent {
		at += time.Duration(rapid.Int64Range(0, int64(200*time.Millisecond)).Draw(t, "after"))
		return sent{rapid.Uint64Range(0, 3).Draw(t, "client"), rapid.IntRange(1, 1500).Draw(t, "size"), at}
	}), 1, 80).Draw(t, "packets")
}

func same(a, b link.Fate) bool {
	return a.Dropped == b.Dropped && a.Overtaken == b.Overtaken && slices.Equal(a.Arrivals, b.Arrivals)
}

// TestSameSeedSameFate has a client's packets fare as they do when no other client is there.
func TestSameSeedSameFate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, seed, all := terms(t, 0), rapid.Uint64().Draw(t, "seed"), packets(t)
		crowd, alone := link.NewCore(link.ToTarget, seed, d), link.NewCore(link.ToTarget, seed, d)
		for _, p := range all {
			got := crowd.Decide(p.client, p.size, p.at)
			if p.client != 1 {
				continue
			}
			if want := alone.Decide(p.client, p.size, p.at); !same(got, want) {
				t.Fatalf("among others %+v, alone %+v", got, want)
			}
		}
	})
}

// TestArrivals holds each packet to the times and the order that the terms allow.
func TestArrivals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := terms(t, 0)
		core := link.NewCore(link.ToClient, rapid.Uint64().Draw(t, "seed"), d)
		last := map[uint64]time.Duration{}
		for _, p := range packets(t) {
			got := core.Decide(p.client, p.size, p.at)
			dark := len(d.Outages) > 0 && p.at >= 2*time.Second && p.at < 3*time.Second
			if (got.Dropped == link.InOutage) != dark {
				t.Fatalf("at %s: %+v", p.at, got)
			}
			if got.Dropped != 0 {
				if len(got.Arrivals) > 0 {
					t.Fatalf("dropped and delivered: %+v", got)
				}
				continue
			}
			early, late := p.at+d.Delay-d.Jitter, p.at+d.Delay+d.Jitter
			if got.Overtaken {
				early, late = early+d.ReorderBy, late+d.ReorderBy
			}
			first := got.Arrivals[0]
			if first < early || first > late {
				t.Fatalf("sent at %s, arrives at %s, not from %s to %s", p.at, first, early, late)
			}
			if !got.Overtaken && first < last[p.client] {
				t.Fatalf("overtakes: %s before %s", first, last[p.client])
			}
			if !got.Overtaken {
				last[p.client] = first
			}
			if len(got.Arrivals) > 1 && (got.Arrivals[1] < first || got.Arrivals[1] > first+d.Jitter) {
				t.Fatalf("copy at %s of %s", got.Arrivals[1], first)
			}
		}
	})
}

// TestRate has no more bits pass a second than may, and no more bytes wait.
func TestRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(1000, 1_000_000).Draw(t, "rate")
		queue := rapid.IntRange(2048, 20_000).Draw(t, "queue")
		core := link.NewCore(link.ToTarget, 1, link.Direction{Rate: rate, Queue: queue})
		begun, bits := time.Duration(-1), 0.0
		for _, p := range packets(t) {
			got := core.Decide(p.client, p.size, p.at)
			longest := time.Duration(float64(queue) * 8 / float64(rate) * float64(time.Second))
			if got.Dropped == link.QueueFull {
				continue
			}
			arrives := got.Arrivals[0]
			if arrives-p.at > longest+time.Microsecond {
				t.Fatalf("waits %s, a full queue lasts %s", arrives-p.at, longest)
			}
			if begun < 0 {
				begun = p.at
			}
			bits += float64(p.size * 8)
			if most := float64(rate) * (arrives - begun + time.Microsecond).Seconds(); bits > most*1.000001+1 {
				t.Fatalf("%.0f bits in %s at %d bit/s", bits, arrives-begun, rate)
			}
		}
	})
}

// TestQueueOverflows fills a queue at once: it takes what fits and no more.
func TestQueueOverflows(t *testing.T) {
	t.Parallel()
	core := link.NewCore(link.ToTarget, 1, link.Direction{Rate: 8000, Queue: 5000})
	passed := 0
	for range 10 {
		if core.Decide(0, 1000, 0).Dropped == 0 {
			passed++
		}
	}
	if passed != 5 {
		t.Errorf("%d packets of 1000 bytes went into a queue of 5000", passed)
	}
	if got := core.Decide(0, 1000, time.Second); got.Dropped != 0 {
		t.Errorf("a second later, in which a packet left: %v", got.Dropped)
	}
}

// TestShares counts what befalls 200,000 packets against the binomial distribution.
func TestShares(t *testing.T) {
	t.Parallel()
	const n = 200_000
	d := link.Direction{Delay: time.Second, Jitter: time.Second, Loss: 0.05, Duplicate: 0.1, Reorder: 0.2, ReorderBy: time.Minute}
	for seed := range uint64(4) {
		for _, way := range []link.Way{link.ToTarget, link.ToClient} {
			core := link.NewCore(way, seed, d)
			var lost, passed, twice, late, both, early float64
			for i := range n {
				got := core.Decide(0, 100, time.Duration(i)*time.Hour)
				if got.Dropped != 0 {
					lost++
					continue
				}
				passed++
				doubled := len(got.Arrivals) == 2
				twice += count(doubled)
				late += count(got.Overtaken)
				both += count(doubled && got.Overtaken)
				early += count((got.Arrivals[0]-time.Duration(i)*time.Hour)%time.Minute < time.Second)
			}
			binomial(t, "lost", lost, n, d.Loss)
			binomial(t, "doubled", twice, passed, d.Duplicate)
			binomial(t, "overtaken", late, passed, d.Reorder)
			binomial(t, "doubled and overtaken", both, passed, d.Duplicate*d.Reorder)
			binomial(t, "earlier than the mean", early, passed, 0.5)
		}
	}
}

func count(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// binomial allows six standard deviations; the seeds are fixed, so that it passes always or never.
func binomial(t *testing.T, what string, got, n, p float64) {
	t.Helper()
	if off := math.Abs(got - n*p); off > 6*math.Sqrt(n*p*(1-p)) {
		t.Errorf("%s: %.0f of %.0f at a share of %v", what, got, n, p)
	}
}

// TestSeedsAndWaysDiffer has another seed, way or client lose other packets.
func TestSeedsAndWaysDiffer(t *testing.T) {
	t.Parallel()
	d := link.Direction{Loss: 0.5}
	fates := func(way link.Way, seed, client uint64) string {
		core, text := link.NewCore(way, seed, d), make([]byte, 64)
		for i := range text {
			text[i] = '0' + byte(core.Decide(client, 1, 0).Dropped)
		}
		return string(text)
	}
	seen := map[string]bool{}
	for seed := range uint64(20) {
		for client := range uint64(20) {
			seen[fates(link.ToTarget, seed, client)] = true
			seen[fates(link.ToClient, seed, client)] = true
		}
	}
	if len(seen) != 800 {
		t.Errorf("%d of 800 fared each its own way", len(seen))
	}
	if !seen[fates(link.ToTarget, 1, 0)] {
		t.Error("the same seed does not do the same again")
	}
}

// TestRebindTimes walks the changes of port.
func TestRebindTimes(t *testing.T) {
	t.Parallel()
	cfg := link.Config{RebindAt: []time.Duration{7 * time.Second, time.Second}, RebindEvery: 3 * time.Second}
	var times []time.Duration
	for now := time.Duration(0); now < 10*time.Second; {
		n, next, ok := cfg.Rebinds(now)
		if !ok || n != len(times) {
			t.Fatalf("at %s: %d changes of port, walked %d", now, n, len(times))
		}
		times = append(times, next)
		now = next
	}
	want := []time.Duration{time.Second, 3 * time.Second, 6 * time.Second, 7 * time.Second, 9 * time.Second, 12 * time.Second}
	if !slices.Equal(times, want) {
		t.Errorf("ports change at %v, want %v", times, want)
	}
	if _, _, ok := (link.Config{RebindAt: []time.Duration{time.Second}}).Rebinds(time.Second); ok {
		t.Error("a change of port after the last")
	}
}
