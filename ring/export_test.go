package ring

// What tests of the parts need to see.
const (
	Golden            = uint64(golden)
	ChainProbes       = chainProbes
	LogarithmFraction = logarithmFraction
)

// Logarithm returns the first n values of the table of a ring of slots.
func Logarithm(slots int, n int) []uint64 {
	l := newLogarithm(slots)
	l.at(uint32(n - 1))

	return l.values
}

// Permute returns the slot of virtual node i of a node.
func Permute(id string, bits uint8, i uint32) uint32 {
	p := newPermutation(id, bits)

	return p.slot(i)
}
