package link

// dice is the luck of one packet. It is a hash, not a stream of random numbers, so that no packet's luck depends on how
// much another one has drawn.
type dice uint64

// draw names what luck is needed for.
type draw uint64

const (
	ofLoss draw = iota + 1
	ofDelay
	ofReordering
	ofDuplication
	ofCopy
)

// roll hashes what identifies a packet.
func roll(parts ...uint64) dice {
	h := uint64(0)
	for _, part := range parts {
		h = scramble(h ^ part)
	}
	return dice(h)
}

// share is from 0 to below 1, even, and independent for each draw.
func (d dice) share(what draw) float64 {
	return float64(scramble(uint64(d)+uint64(what))>>11) / (1 << 53)
}

// happens says whether something comes about whose probability is p.
func (d dice) happens(what draw, p float64) bool { return d.share(what) < p }

// scramble is a step of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
func scramble(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
