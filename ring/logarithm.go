package ring

import "sort"

// logarithmFraction is the number of fraction bits of the logarithm's fixed point. The
// largest value, ln(2^(MaxBits+1)) < 16, leaves room above.
const logarithmFraction = 58

// logarithm holds L(i) = -ln(1 - (i+1/2)/m) for i = 0, 1, 2, ... < m in fixed point
// with logarithmFraction bits: the times at which a node of capacity 1 emits its
// virtual nodes. It is made with integers alone, so that it is the same on every
// machine, and no further than it is asked for.
//
//	L(i) = ln(2m) - ln(2m-2i-1), so L(0) = ln(2m/(2m-1)) and L(i) - L(i-1) = ln((2m-2i+1)/(2m-2i-1)),
//	ln(a/b) = 2 artanh(y) = 2(y + y^3/3 + y^5/5 + ...), y = (a-b)/(a+b)
//
// Each term is off by less than 2^-logarithmFraction per rounding, L(m-1) in all by
// less than 2^-30.
type logarithm struct {
	slots  uint64 // m
	values []uint64
}

func newLogarithm(slots int) *logarithm { return &logarithm{slots: uint64(slots)} }

// at returns L(i) for i < m.
func (l *logarithm) at(i uint32) uint64 {
	for uint64(len(l.values)) <= uint64(i) {
		l.extend()
	}

	return l.values[i]
}

// count returns how many values are at most limit.
func (l *logarithm) count(limit uint64) uint32 {
	for n := uint64(len(l.values)); n < l.slots && (n == 0 || l.values[n-1] <= limit); n++ {
		l.extend()
	}

	return uint32(sort.Search(len(l.values), func(i int) bool { return l.values[i] > limit }))
}

// extend appends the next value.
func (l *logarithm) extend() {
	i := uint64(len(l.values))
	if i == 0 {
		l.values = append(make([]uint64, 0, min(l.slots, 1<<16)), doubleArtanh(4*l.slots-1))

		return
	}

	l.values = append(l.values, l.values[i-1]+doubleArtanh(2*l.slots-2*i))
}

// doubleArtanh returns 2 artanh(1/d) in the logarithm's fixed point, d >= 2. It is most of the time that a
// large table takes, so that it divides no more often than it must: mostly once or twice.
func doubleArtanh(d uint64) uint64 {
	const one = uint64(1) << logarithmFraction

	power := one / d
	sum := power
	square := d * d // d < 2^25

	for k := uint64(3); power >= square; k += 2 {
		power /= square

		if power < k {
			break
		}

		sum += power / k
	}

	return 2 * sum
}
