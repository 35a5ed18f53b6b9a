package simulate

import (
	"math/bits"
	"math/rand/v2"

	"github.com/zeebo/xxh3"

	"skyring/protocol/key"
	"skyring/ring"
	"skyring/ring/policy"
)

// crowd is the stations. Which number has which popularity is a permutation of the seed's, so that seeds differ in where the loud stations are.
type crowd struct {
	popularity   zipf
	count        uint64
	spacing      uint64
	associations uint64
	half         uint // bits of half a number in the permutation
	keys         [4]uint64
	key          []byte // scratch
}

func newCrowd(s Stations, r *rand.Rand) crowd {
	c := crowd{
		popularity:   newZipf(s.Count, s.Exponent),
		count:        uint64(s.Count),
		spacing:      max(1, s.Spacing),
		associations: max(1, uint64(s.Associations)),
		half:         max(1, (uint(bits.Len64(uint64(s.Count-1)))+1)/2),
	}
	for i := range c.keys {
		c.keys[i] = r.Uint64()
	}

	return c
}

// number is the number of the station of a rank 0..count-1: 1..count, each once. It is a Feistel network of four rounds on the next even number of bits, walked
// until it comes out below count (J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
func (c *crowd) number(rank int) uint64 {
	mask := uint64(1)<<c.half - 1
	x := uint64(rank)

	for {
		left, right := x>>c.half, x&mask
		for _, k := range c.keys {
			left, right = right, left^(ring.Scramble(right^k)&mask)
		}

		x = left<<c.half | right
		if x < c.count {
			return x + 1
		}
	}
}

// station is the id of the station of a rank.
func (c *crowd) station(rank int) uint64 { return c.number(rank) * c.spacing }

// association is by which a station comes.
func (c *crowd) association(station uint64) uint64 { return station / c.spacing % c.associations }

// query is what a policy is asked for a station; Avoid is the caller's.
func (c *crowd) query(station uint64) policy.Query {
	c.key = key.Station(c.key[:0], station)

	return policy.Query{Hash: xxh3.Hash(c.key), Number: station, Source: c.association(station)}
}
