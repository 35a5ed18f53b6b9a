package ring

import "github.com/zeebo/xxh3"

// permutation orders the slots of a ring for one node. It is a bijection on
// [0, 2^bits): each step (an odd multiplication, an addition, folding the upper half
// into the lower) can be undone.
type permutation struct {
	offset uint32
	first  uint32 // odd
	second uint32 // odd
	third  uint32 // odd
	mask   uint32
	fold   uint8 // half the bits, rounded up
}

// newPermutation keys the permutation by the 128-bit xxh3 of the node's id.
func newPermutation(id string, bits uint8) permutation {
	h := xxh3.HashString128(id)
	mask := uint32(1)<<bits - 1

	return permutation{
		offset: uint32(h.Lo) & mask,
		first:  uint32(h.Lo>>32)&mask | 1,
		second: uint32(h.Hi)&mask | 1,
		third:  uint32(uint64(golden)>>(64-bits)) | 1,
		mask:   mask,
		fold:   (bits + 1) / 2,
	}
}

// slot returns the slot of virtual node i, which is less than 2^bits.
func (p *permutation) slot(i uint32) uint32 {
	fold := p.fold & 31
	x := (i*p.first + p.offset) & p.mask
	x ^= x >> fold
	x = x * p.second & p.mask
	x ^= x >> fold
	x = x * p.third & p.mask

	return x ^ x>>fold
}
