package ring_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"skyring/ring"
)

// members returns nodes with capacities that repeat in order; without any all have 100.
func members(n int, capacities ...uint32) []ring.Node {
	if len(capacities) == 0 {
		capacities = []uint32{100}
	}

	out := make([]ring.Node, n)
	for i := range out {
		out[i] = ring.Node{ID: fmt.Sprintf("processor-%d", i), Capacity: capacities[i%len(capacities)]}
	}

	return out
}

// build fails the test where Build fails.
func build(tb testing.TB, nodes []ring.Node, cfg ring.Config) *ring.Ring {
	tb.Helper()

	r, err := ring.Build(nodes, cfg)
	if err != nil {
		tb.Fatal(err)
	}

	return r
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{16, 1000} {
		for _, c := range []struct {
			name string
			open func(i int) bool
		}{
			{"home", func(int) bool { return true }},
			{"half saturated", func(i int) bool { return i%2 == 0 }},
			{"90 % saturated", func(i int) bool { return i%10 == 0 }},
			{"one open", func(i int) bool { return i == n/2 }},
			{"all saturated", func(int) bool { return false }},
		} {
			b.Run(fmt.Sprintf("%d nodes/%s", n, c.name), func(b *testing.B) {
				r := build(b, members(n), ring.DefaultConfig())
				for i := range n {
					if !c.open(i) {
						r.SetState(i, ring.AtLimit)
					}
				}

				b.ReportAllocs()

				hash, sum := uint64(1), 0
				for b.Loop() {
					hash = hash*6364136223846793005 + 1442695040888963407
					sum += r.Pick(hash, ring.NoNode).Node
				}

				if sum < 0 {
					b.Fatal("none")
				}
			})
		}
	}
}

func BenchmarkSetLoad(b *testing.B) {
	for _, n := range []int{16, 1000} {
		for _, state := range []ring.State{ring.Open, ring.AtLimit} {
			b.Run(fmt.Sprintf("%d nodes/%v", n, state), func(b *testing.B) {
				r := build(b, members(n), ring.DefaultConfig())
				for i := range n {
					r.SetState(i, state)
				}

				i := 0
				for b.Loop() {
					r.SetLoad(i%n, uint32(i%97), 100, math.MaxUint32)
					i++
				}
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, c := range []struct {
		nodes      int
		capacities []uint32
		config     ring.Config
	}{
		{16, nil, ring.Config{Bits: 16}},
		{64, nil, ring.Config{Bits: 16}},
		{1000, nil, ring.Config{Bits: 16}},
		{1000, []uint32{1, 2, 4, 8}, ring.Config{Bits: 16}},
		{1000, nil, ring.Config{Bits: 16, Epsilon: -1}},
		{1000, nil, ring.Config{Bits: 20, Epsilon: 0.01}},
	} {
		b.Run(fmt.Sprintf("%d nodes %v/bits=%d/epsilon=%v", c.nodes, c.capacities, c.config.Bits, c.config.Epsilon), func(b *testing.B) {
			nodes := members(c.nodes, c.capacities...)

			for b.Loop() {
				build(b, nodes, c.config)
			}
		})
	}
}

// BenchmarkSpill prints how the keys of saturated nodes spread over those that are open: the largest number on a node as a multiple of its fair share, and the
// same for draws that are random but for the shares (key noise).
func BenchmarkSpill(b *testing.B) {
	for _, n := range []int{16, 64, 1000} {
		for _, every := range []int{2, 10, 100} { // 50, 90, 99 % saturated
			if every > n {
				continue
			}

			b.Run(fmt.Sprintf("%d nodes/one in %d open", n, every), func(b *testing.B) {
				r := build(b, members(n), ring.DefaultConfig())
				random := rand.New(rand.NewPCG(1, 2))

				var tickets []int // a node as often as it has slots

				for i := range n {
					if i%every != 0 {
						r.SetState(i, ring.AtLimit)
					} else {
						tickets = append(tickets, slices.Repeat([]int{i}, r.Share(i))...)
					}
				}

				got, noise := make([]int, n), make([]int, n)
				spilled := 0

				for b.Loop() {
					if choice := r.Pick(random.Uint64(), ring.NoNode); choice.How != ring.Home {
						spilled++
						got[choice.Node]++
						noise[tickets[random.IntN(len(tickets))]]++
					}
				}

				worst := func(counts []int) float64 {
					most := 0.0
					for i, count := range counts {
						most = max(most, float64(count)*float64(len(tickets))/(float64(spilled)*float64(r.Share(i))))
					}

					return most
				}

				b.ReportMetric(worst(got), "max/fair")
				b.ReportMetric(worst(noise), "noise/fair")
			})
		}
	}
}
