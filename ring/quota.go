package ring

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// unbounded is the quota of nodes without one.
const unbounded = math.MaxUint32

// million is the denominator of Config.Epsilon.
const million = 1_000_000

// quotas returns how many slots each node may own at most; they add up to slots or more.
func quotas(nodes []Node, slots int, epsilon float64) []uint32 {
	switch {
	case epsilon < 0:
		return slices.Repeat([]uint32{unbounded}, len(nodes))
	case epsilon == 0:
		return largestRemainder(nodes, slots)
	default:
		// One multiplication and one rounding: the same on every machine.
		return upTo(nodes, slots, million+uint64(math.Round(epsilon*million)))
	}
}

// totalCapacity is less than 2^48: MaxNodes times a uint32.
func totalCapacity(nodes []Node) uint64 {
	var total uint64
	for _, n := range nodes {
		total += uint64(n.Capacity)
	}

	return total
}

// largestRemainder divides slots in proportion to capacity: every node gets its share
// rounded down, and what is left goes one each to those that lost most by that, the
// lower index first where they lost the same.
func largestRemainder(nodes []Node, slots int) []uint32 {
	total := totalCapacity(nodes)
	out := make([]uint32, len(nodes))
	remainders := make([]uint64, len(nodes))
	order := make([]int, len(nodes))
	left := slots

	for i, n := range nodes {
		exact := uint64(slots) * uint64(n.Capacity) // < 2^54
		out[i] = uint32(exact / total)
		remainders[i] = exact % total
		order[i] = i
		left -= int(out[i])
	}

	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })

	for _, i := range order[:left] {
		out[i]++
	}

	return out
}

// upTo returns the fair shares times factor/million, rounded up.
func upTo(nodes []Node, slots int, factor uint64) []uint32 {
	total := totalCapacity(nodes)
	out := make([]uint32, len(nodes))

	for i, n := range nodes {
		high, low := bits.Mul64(uint64(slots)*uint64(n.Capacity), factor)
		quotient, remainder := bits.Div64(high, low, total) // high < total: the quotient is at most slots*factor

		if remainder > 0 {
			quotient++
		}

		out[i] = uint32((quotient + million - 1) / million)
	}

	return out
}
