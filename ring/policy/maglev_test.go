package policy_test

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/zeebo/xxh3"

	"skyring/ring"
	"skyring/ring/policy"
)

// naiveMaglev fills the table as Envoy does it, with normalised weights in floating point, and looks whole permutations up.
func naiveMaglev(nodes []ring.Node, size int) []int {
	table := make([]int, size)
	for i := range table {
		table[i] = ring.NoNode
	}

	sum, largest := 0.0, 0.0
	for _, n := range nodes {
		sum += float64(n.Capacity)
	}

	for _, n := range nodes {
		largest = max(largest, float64(n.Capacity)/sum)
	}

	target, next := make([]float64, len(nodes)), make([]int, len(nodes))
	permutations := make([][]int, len(nodes))

	for i, n := range nodes {
		offset, skip := int(xxh3.HashString(n.ID)%uint64(size)), int(xxh3.HashStringSeed(n.ID, 1)%uint64(size-1))+1
		for j := range size {
			permutations[i] = append(permutations[i], (offset+j*skip)%size)
		}
	}

	for filled, turn := 0, 1; filled < size; turn++ {
		for i := 0; i < len(nodes) && filled < size; i++ {
			if float64(turn)*float64(nodes[i].Capacity)/sum < target[i]-1e-9 {
				continue
			}

			target[i] += largest

			for table[permutations[i][next[i]]] != ring.NoNode {
				next[i]++
			}

			table[permutations[i][next[i]]] = i
			filled++
		}
	}

	return table
}

func TestMaglevTableIsAsEnvoyFillsIt(t *testing.T) {
	for _, nodes := range [][]ring.Node{processors(1), processors(7), processors(5, 1, 2, 4, 8, 3), processors(16, 300, 100)} {
		t.Run(strconv.Itoa(len(nodes)), func(t *testing.T) {
			got := policy.MaglevTable(mustNew(t, "maglev", nodes, standard()))
			for i, want := range naiveMaglev(nodes, len(got)) {
				if int(got[i]) != want {
					t.Fatalf("entry %d is of %d, want %d", i, got[i], want)
				}
			}
		})
	}
}

// TestMaglevTableIsPrime whatever is asked for, and has an entry for each node.
func TestMaglevTableIsPrime(t *testing.T) {
	for nodes := range 12 {
		for each := range 40 {
			o := standard()
			o.VirtualNodes = each + 1
			table := policy.MaglevTable(mustNew(t, "maglev", processors(nodes, 1, 1000), o))

			if !big.NewInt(int64(len(table))).ProbablyPrime(0) && nodes > 0 || len(table) < nodes*(each+1) {
				t.Errorf("%d nodes of %d: %d entries", nodes, each+1, len(table))
			}

			for i := range nodes {
				if !slices.Contains(table, uint16(i)) {
					t.Errorf("%d nodes of %d: %d has no entry", nodes, each+1, i)
				}
			}
		}
	}
}

// TestMaglevSharesAreByCapacity: every node has its part of the table to 1 %.
func TestMaglevSharesAreByCapacity(t *testing.T) {
	for _, nodes := range [][]ring.Node{processors(16), processors(16, 1, 2, 4, 8), processors(100, 100, 150)} {
		p := mustNew(t, "maglev", nodes, standard())
		counts, sum := make([]float64, len(nodes)), 0.0

		for _, n := range policy.MaglevTable(p) {
			counts[n] += 1.0 / 65537
		}

		for _, n := range nodes {
			sum += float64(n.Capacity)
		}

		for i, got := range counts {
			if want := float64(nodes[i].Capacity) / sum; math.Abs(got/want-1) > 0.01 {
				t.Errorf("node %d of %d with capacity %d has %v, want %v", i, len(nodes), nodes[i].Capacity, got, want)
			}
		}
	}
}

// TestMaglevFindsTheOnlyOpenNode by the one entry that its small weight leaves it.
func TestMaglevFindsTheOnlyOpenNode(t *testing.T) {
	p := mustNew(t, "maglev", processors(3, math.MaxUint32, math.MaxUint32, 1), standard())
	entries := 0

	for _, n := range policy.MaglevTable(p) {
		if n == 2 {
			entries++
		}
	}

	saturate(p, 0, ring.AtLimit)
	saturate(p, 1, ring.AtLimit)

	if c := p.Pick(policy.SessionQuery(1)); entries != 1 || c.Node != 2 || c.How != ring.Chain {
		t.Errorf("%+v with %d entries", c, entries)
	}
}
