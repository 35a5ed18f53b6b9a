package calibrate

import "time"

// Search looks for the highest rate.
type Search struct{ search search }

// Next is what to try.
func (s *Search) Next() (rate float64, long, more bool) {
	o, more := s.search.next()
	return o.rate, o.long, more
}

// Was tells how that was.
func (s *Search) Was(rate float64, long, well, bad bool) {
	v := held
	switch {
	case well:
	case bad:
		v = hopeless
	default:
		v = late
	}
	s.search.was(offer{rate: rate, long: long}, v)
}

// Held is the highest rate that held.
func (s *Search) Held() float64 { return s.search.held }

// Conclude makes a result of rounds and the lowest rate that failed.
func Conclude(rounds []Round, failed float64) (uint32, Limit) {
	r := Result{Rounds: rounds}
	r.conclude(failed)
	return r.Capacity, r.Limit
}

// Holds judges a round.
func (r Round) Holds(target time.Duration) bool { return r.holds(target) }
