package policy

import (
	"math"
	"math/bits"

	"skyring/ring"
)

// rank orders nodes: the smaller score first, then the smaller tie, then the lower index.
type rank struct{ score, tie float64 }

// absent is the rank of a node that may not be chosen.
func absent() rank { return rank{score: math.Inf(1)} }

// tournament keeps the node of the smallest rank: a tree in array form (root at 1, children of v at 2v and 2v+1, node i at
// leaves+i) whose inner places hold the better of two. To look costs nothing, a change as many steps as the tree is high.
type tournament struct {
	leaves int
	ranks  []rank
	best   []int32 // node, or ring.NoNode
}

func newTournament(n int) tournament {
	leaves := 1
	if n > 1 {
		leaves = 1 << bits.Len(uint(n-1))
	}

	t := tournament{leaves: leaves, ranks: make([]rank, n), best: make([]int32, 2*leaves)}

	for i := range t.ranks {
		t.ranks[i] = absent()
	}

	for v := range t.best {
		t.best[v] = ring.NoNode
	}

	return t
}

// set gives a node a rank. A score that is no number counts as the largest.
func (t *tournament) set(i int, r rank) {
	winner := int32(i)

	switch {
	case r == absent():
		winner = ring.NoNode
	case math.IsNaN(r.score) || math.IsInf(r.score, 1):
		r.score = math.MaxFloat64
	}

	if math.IsNaN(r.tie) {
		r.tie = math.MaxFloat64
	}

	t.ranks[i] = r
	v := t.leaves + i
	t.best[v] = winner

	for v > 1 {
		winner = t.better(winner, t.best[v^1])
		v /= 2

		// Where another node wins, as before, nothing changes further up.
		if t.best[v] == winner && winner != int32(i) {
			return
		}

		t.best[v] = winner
	}
}

// least is the node of the smallest rank other than avoid, or ring.NoNode.
func (t *tournament) least(avoid int) int {
	best := int(t.best[1])
	if best != avoid || best == ring.NoNode {
		return best
	}

	other := int32(ring.NoNode)
	for v := t.leaves + avoid; v > 1; v /= 2 {
		other = t.better(other, t.best[v^1])
	}

	return int(other)
}

func (t *tournament) better(a, b int32) int32 {
	if a == ring.NoNode {
		return b
	}

	if b == ring.NoNode {
		return a
	}

	x, y := t.ranks[a], t.ranks[b]

	switch {
	case x.score != y.score:
		if x.score < y.score {
			return a
		}

		return b
	case x.tie != y.tie:
		if x.tie < y.tie {
			return a
		}

		return b
	default:
		return min(a, b)
	}
}
