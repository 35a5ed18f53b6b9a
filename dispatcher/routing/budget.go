package routing

import "time"

// budget bounds resends to a share of first sends plus a rate, so that processors
// which are late because they are overloaded do not get their load doubled.
type budget struct {
	share  float64 // tokens for each first send
	rate   float64 // tokens a second
	limit  float64 // most tokens kept
	tokens float64
	at     time.Duration // when rate was last paid in
}

// sent pays in for a first send.
func (b *budget) sent() { b.tokens = min(b.tokens+b.share, b.limit) }

// take takes n tokens if there is one at all: the balance may become negative, so
// that a long queue of one key is not kept back for ever.
func (b *budget) take(now time.Duration, n int) bool {
	b.tokens = min(b.tokens+b.rate*(now-b.at).Seconds(), b.limit)
	b.at = now

	if b.tokens < 1 {
		return false
	}

	b.tokens -= float64(n)

	return true
}
