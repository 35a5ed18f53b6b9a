package policy

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// SessionQuery is the query of a session that is known by a number alone, as simulations and benchmarks make them: its hash is xxh3 over the
// number's eight bytes, least first, and it comes from an association of its own.
func SessionQuery(number uint64) Query {
	var b [8]byte

	binary.LittleEndian.PutUint64(b[:], number)

	return Query{Hash: xxh3.Hash(b[:]), Number: number, Source: number, Avoid: ring.NoNode}
}

// SharesOf is the part of the sessions numbered 1 .. keys that each node gets when each sends one message, by picks in that order in the policy's
// present states and loads. The parts add up to 1 unless messages are shed. It uses up turns and random numbers of policies that have them.
func SharesOf(p Policy, keys int) []float64 {
	counts := make([]int, p.Len())

	for k := range keys {
		if c := p.Pick(SessionQuery(uint64(k) + 1)); c.Node != ring.NoNode {
			counts[c.Node]++
		}
	}

	out := make([]float64, len(counts))
	for i, n := range counts {
		out[i] = float64(n) / float64(max(keys, 1))
	}

	return out
}
