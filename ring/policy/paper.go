package policy

import (
	"cmp"
	"math/bits"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// Positions of the two circles that the paper speaks of, and virtual nodes of a node of mean capacity on them. It does not
// say how many: on 1,000 positions more than some ten make the shares worse, on 2^32 more make them better.
const (
	paperPositions         = 1000
	paperVirtualNodes      = 10
	paper32BitPositions    = 1 << 32
	paper32BitVirtualNodes = 200
)

// fibonacci64 is floor(2^64 * (sqrt 5 - 1)/2).
const fibonacci64 = 0x9E3779B97F4A7C15

// paperRing dispatches as published: Fibonacci hashing to a circle of m positions, virtual nodes by capacity, and a clockwise
// walk that passes nodes at their limit.
//
// Source: the published Fibonacci-hash ring dispatch, whose text is known to the beginning of its section 3.1 only.
//
//	H(k) = floor(m * frac(k*A)), A = (sqrt 5 - 1)/2, m = 1000 or 2^32
//	virtual nodes of node k: H(k), H(H(k)), H(H(H(k))), ...
//
//	    A1        B1            Q1 at its H meets A1: A takes it
//	----o----Q2---o----C2---    Q2 meets B1, B is at its limit, C2 is next: C takes it
//	                            all are at their limit: the best weight takes it
//
// The paper has no hard cap and sheds nothing: Load.HardCap = math.MaxUint32 gives its last step as it is printed, any other is
// our addition. What the text leaves open is decided so: node numbers are those at the end of their ids (see numbers); where two
// virtual nodes meet on one position, the node of the lower index keeps it; a query is placed by Query.Number modulo 2^32.
//
// H is exact, in integers, so every machine builds the same circle.
type paperRing struct {
	members

	circle    circle
	positions uint64 // m
}

func paperEntry() entry {
	return entry{
		Description: Description{
			Name:    "paper",
			Summary: "Fibonacci hash to 1,000 positions, clockwise walk past nodes at their limit, best weight",
			Source:  "Fibonacci-hash ring dispatch",
		},
		build: checked(func(nodes []ring.Node, o Options) (*paperRing, error) {
			return newPaperRing(nodes, o, paperPositions, paperVirtualNodes)
		}),
	}
}

func paper32BitEntry() entry {
	return entry{
		Description: Description{
			Name:    "paper-32bit",
			Summary: "the same on 2^32 positions",
			Source:  "Fibonacci-hash ring dispatch",
		},
		build: checked(func(nodes []ring.Node, o Options) (*paperRing, error) {
			return newPaperRing(nodes, o, paper32BitPositions, paper32BitVirtualNodes)
		}),
	}
}

func newPaperRing(nodes []ring.Node, o Options, positions uint64, virtual int) (*paperRing, error) {
	counts, err := virtualNodes(nodes, cmp.Or(o.VirtualNodes, virtual))
	if err != nil {
		return nil, err
	}

	var points []point

	for i, k := range numbers(nodes) {
		for range counts[i] {
			k = fibonacciHash(k, positions)
			points = append(points, point{at: k, owner: uint16(i)})
		}
	}

	return &paperRing{members: newMembers(nodes, o), circle: newCircle(points), positions: positions}, nil
}

// Pick implements Policy.
func (p *paperRing) Pick(q Query) ring.Choice {
	return p.walk(p.circle, p.circle.first(fibonacciHash(uint32(q.Number), p.positions)), q.Avoid)
}

// fibonacciHash is floor(m * frac(k*A)), exactly, for m up to 2^32.
//
// With q = k*m, floor(m * frac(k*A)) = floor(q*A) mod m, as m*floor(k*A) is a multiple of m. A is the positive root of x*x + x = 1, so p <= q*A
// just when p*p <= q*(q-p), whose sides fit in 128 bits; and floor(q * fibonacci64 / 2^64) is floor(q*A) or 1 less.
func fibonacciHash(k uint32, m uint64) uint32 {
	q := uint64(k) * m
	p, _ := bits.Mul64(q, fibonacci64)

	if next := p + 1; next <= q {
		highLeft, lowLeft := bits.Mul64(next, next)
		highRight, lowRight := bits.Mul64(q, q-next)

		if highLeft < highRight || highLeft == highRight && lowLeft <= lowRight {
			p = next
		}
	}

	return uint32(p % m)
}

// numbers numbers the nodes as the paper does, where they have names: by the decimal number that ends the id ("processor-7"
// is 7). A node whose id has none, or 0, which is the fixed point of H, or one above 2^32-1, or the same as a node before it, has the
// lower half of the id's xxh3.
func numbers(nodes []ring.Node) []uint32 {
	out := make([]uint32, len(nodes))
	taken := make(map[uint32]bool, len(nodes))

	for i, n := range nodes {
		digits := n.ID[len(strings.TrimRight(n.ID, "0123456789")):]

		k, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || k == 0 || taken[uint32(k)] {
			k = xxh3.HashString(n.ID)
		}

		out[i] = uint32(k)
		taken[out[i]] = true
	}

	return out
}
