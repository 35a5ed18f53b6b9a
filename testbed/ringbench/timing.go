package ringbench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"skyring/protocol/key"
)

// keys returns the session keys of n stations, whose ids are spread over all there are.
func keys(n int) []string {
	var slab []byte // one after the other, so that reading them costs all candidates little

	for i := range n {
		slab = key.Station(slab, xxh3.HashString(fmt.Sprint("station ", i)))
	}

	all := string(slab)
	out := make([]string, n)
	size := len(slab) / n // all are of the same length

	for i := range out {
		out[i] = all[size*i : size*(i+1)]
	}

	return out
}

// slowBuild is the time of a build in milliseconds from which one is enough.
const slowBuild = 1000

// timeBuilds builds each candidate in turn, again and again, and leaves the last tables. Slow ones are built once.
func timeBuilds(ctx context.Context, o Options, rows []Row, tables []Table) error {
	times := make([][]float64, len(rows))

	for range o.Builds {
		for i, c := range o.Candidates {
			if err := ctx.Err(); err != nil {
				return err
			}

			if len(times[i]) > 0 && times[i][0] >= slowBuild {
				continue
			}

			nodes := equalNodes(rows[i].Nodes)
			start := time.Now()

			table, err := c.New(nodes)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}

			times[i] = append(times[i], float64(time.Since(start))/float64(time.Millisecond))
			tables[i] = table
		}
	}

	for i := range rows {
		rows[i].BuildMs = median(times[i])
	}

	return nil
}

// timeLookups lets each candidate look the same keys up in turn, again and again.
func timeLookups(ctx context.Context, o Options, rows []Row, tables []Table) error {
	looked := keys(o.Lookups)
	results := make([]uint64, len(rows))

	for i := range rows {
		rows[i].Allocs = math.Inf(1)
		results[i] = tables[i].Loop(looked)
	}

	for range o.Rounds {
		for i := range rows {
			if err := ctx.Err(); err != nil {
				return err
			}

			ns, allocs, result := timeLoop(tables[i], looked)
			if result != results[i] {
				return fmt.Errorf("%s: the same keys were placed in two ways", rows[i].Name)
			}

			rows[i].Rounds = append(rows[i].Rounds, ns)
			rows[i].Allocs = min(rows[i].Allocs, allocs) // others allocate too
		}
	}

	for i := range rows {
		rows[i].LookupNs = median(rows[i].Rounds)

		if o.KeepRounds == Medians {
			rows[i].Rounds = nil
		}
	}

	return nil
}

// timeLoop returns nanoseconds and allocations of one look-up.
func timeLoop(t Table, looked []string) (ns, allocs float64, result uint64) {
	var before, after runtime.MemStats

	t.Loop(looked) // brings back what the candidate before drove out of the caches
	runtime.ReadMemStats(&before)

	start := time.Now()
	result = t.Loop(looked)
	took := time.Since(start)

	runtime.ReadMemStats(&after)

	n := float64(len(looked))

	return float64(took) / n, math.Floor(float64(after.Mallocs-before.Mallocs)/n*100) / 100, result
}

// median of the values, which stay in their order.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)

	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
