package policy

// ZCode is the Z-curve code of CPU and memory, halved to bits each.
func ZCode(cpu, memory float64, bits int) uint64 {
	return interleave(halve(memory, bits), halve(cpu, bits))
}

// Lots lets tests draw by the point.
type Lots struct{ shares }

// NewLots makes shares of n nodes, all without weight.
func NewLots(n int) *Lots { return &Lots{newShares(n)} }

// Set gives a node a weight.
func (s *Lots) Set(i int, weight uint64) { s.set(i, weight) }

// At is the node that holds a point.
func (s *Lots) At(x uint64) int { return s.at(x) }

// Total is the sum of the weights.
func (s *Lots) Total() uint64 { return s.total }

// Bitset lets tests ask a bitset.
type Bitset struct{ bitset }

// NewBitset makes an empty set of numbers below n.
func NewBitset(n int) *Bitset { return &Bitset{newBitset(n)} }

// Put takes a number in or out.
func (b *Bitset) Put(i int, in bool) { b.put(i, in) }

// Next is the first member from i on, going round.
func (b *Bitset) Next(i int) int { return b.next(i) }

// Nth is the member of rank k.
func (b *Bitset) Nth(k int) int { return b.nth(k) }

// Count is the number of members.
func (b *Bitset) Count() int { return b.count }
