package policy

// shares draws nodes in proportion to their weights: a binary indexed tree of whole numbers, so that sums never drift.
// A change and a draw cost as many steps as the number of nodes has bits.
type shares struct {
	weights []uint64
	sums    []uint64 // from 1 on: place v sums the weights of the v&-v nodes up to v-1
	total   uint64
	top     int // the largest power of two that is not more than the number of nodes
}

func newShares(n int) shares {
	top := 1
	for 2*top <= n {
		top *= 2
	}

	return shares{weights: make([]uint64, n), sums: make([]uint64, n+1), top: top}
}

// set gives a node a weight.
func (s *shares) set(i int, weight uint64) {
	change := weight - s.weights[i] // wraps around where the weight falls, and the sums with it
	if change == 0 {
		return
	}

	s.weights[i] = weight
	s.total += change

	for v := i + 1; v < len(s.sums); v += v & -v {
		s.sums[v] += change
	}
}

// at is the node whose weight holds point x, which is in [0, total), of all weights laid end to end.
func (s *shares) at(x uint64) int {
	place := 0

	for step := s.top; step > 0; step /= 2 {
		if v := place + step; v < len(s.sums) && s.sums[v] <= x {
			place = v
			x -= s.sums[v]
		}
	}

	return place
}
