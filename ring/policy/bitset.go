package policy

import (
	"math/bits"

	"skyring/ring"
)

// bitset is a set of small numbers that knows its size: a step over 64 of them costs as much as one over a single one.
type bitset struct {
	words []uint64
	count int
}

func newBitset(n int) bitset { return bitset{words: make([]uint64, (n+63)/64)} }

func (b *bitset) has(i int) bool { return b.words[i/64]>>(i%64)&1 != 0 }

// put takes i in or out.
func (b *bitset) put(i int, in bool) {
	switch {
	case in == b.has(i):
	case in:
		b.words[i/64] |= 1 << (i % 64)
		b.count++
	default:
		b.words[i/64] &^= 1 << (i % 64)
		b.count--
	}
}

// hide takes i out if it is in, and says so; ring.NoNode never is. The caller puts it back.
func (b *bitset) hide(i int) bool {
	if i == ring.NoNode || !b.has(i) {
		return false
	}

	b.put(i, false)

	return true
}

// nth is the member of rank k, which is in [0, count).
func (b *bitset) nth(k int) int {
	for w, word := range b.words {
		if n := bits.OnesCount64(word); k >= n {
			k -= n

			continue
		}

		for ; k > 0; k-- {
			word &= word - 1
		}

		return w*64 + bits.TrailingZeros64(word)
	}

	panic("rank out of the set")
}

// next is the first member from i on, and from 0 on where there is none; ring.NoNode in an empty set.
func (b *bitset) next(i int) int {
	if b.count == 0 {
		return ring.NoNode
	}

	w := i / 64
	word := b.words[w] &^ (1<<(i%64) - 1)

	for word == 0 {
		w = (w + 1) % len(b.words)
		word = b.words[w]
	}

	return w*64 + bits.TrailingZeros64(word)
}
