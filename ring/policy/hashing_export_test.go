package policy

// VirtualNode is a point of a circle, for tests.
type VirtualNode struct {
	At   uint32
	Node int
}

// CircleOf is the circle of a policy that has one.
func CircleOf(p Policy) []VirtualNode {
	var c circle

	switch p := p.(type) {
	case *paperRing:
		c = p.circle
	case *plainRing:
		c = p.circle
	case *evenRing:
		c = p.circle
	case *multiProbe:
		c = p.circle
	}

	var out []VirtualNode
	for _, v := range c {
		out = append(out, VirtualNode{At: v.at, Node: int(v.owner)})
	}

	return out
}

// First is the index of the virtual node that a position belongs to.
func First(vs []VirtualNode, at uint32) int {
	var c circle
	for _, v := range vs {
		c = append(c, point{at: v.At, owner: uint16(v.Node)})
	}

	return c.first(at)
}

// MaglevTable is the table of Maglev.
func MaglevTable(p Policy) []uint16 { return p.(*maglev).table }

// Buckets is the table of a source or destination hash.
func Buckets(p Policy) []uint16 { return p.(*addressHash).buckets }

// NegativeLog is -log2(x/2^64) in fixed point, and its number of fraction bits.
func NegativeLog(p Policy, x uint64) (uint64, int) {
	return p.(*weightedRendezvous).negativeLog(x), logarithmBits
}

// Functions under test.
var (
	FibonacciHash = fibonacciHash
	Numbers       = numbers
	BKDR          = bkdr
	JumpHash      = jumpHash
	Back          = back
)
