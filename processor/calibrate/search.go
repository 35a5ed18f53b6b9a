package calibrate

import "math"

const (
	firstRate = 500.0   // messages a second of the first round
	lastRate  = 1 << 22 // more is not offered
	fine      = 1.1     // the best rate that holds and the lowest one that does not are no further apart
	retreat   = 0.85    // what is left of a rate that does not hold for longer
	perRound  = 20      // part of the whole time that a round takes
	longRound = 4       // rounds that the confirmation takes, if there is time
	lastRound = 2       // rounds that it takes at least
)

// search looks for the highest rate that holds. It is a value without time: it says what to offer next, and is told how that was.
type search struct {
	held   float64 // the highest rate that held; 0: none did
	failed float64 // the lowest one that did not; 0: all did
	again  offer   // to be offered once more, when it has a rate
	tried  float64 // the rate that was offered twice
	back   bool    // a rate did not hold for longer: held is what is left of it, and only long rounds tell
}

// offer is a rate to try. A long one is the last if it holds.
type offer struct {
	rate float64
	long bool
}

// verdict is how an offer went.
type verdict uint8

const (
	held     verdict = iota
	late             // too many answers were late: that may be a moment's fault of the machine
	hopeless         // messages failed, or more waited than could be answered
)

// next is what to try; false: there is nothing left to try.
func (s *search) next() (offer, bool) {
	switch {
	case s.again.rate > 0:
		return s.again, true
	case s.failed == 0 && s.held == 0:
		return offer{rate: firstRate}, true
	case s.failed == 0:
		return offer{rate: min(2*s.held, lastRate), long: s.held >= lastRate}, true
	case s.held == 0:
		return offer{rate: s.failed / 2}, s.failed >= 2
	case s.failed/s.held > fine && !s.back:
		return offer{rate: math.Sqrt(s.held * s.failed)}, true
	default:
		return offer{rate: s.held, long: true}, true
	}
}

// was tells how an offer went. A short one that was only late gets a second chance.
func (s *search) was(o offer, v verdict) {
	s.again = offer{}
	switch {
	case v == held:
		s.held = max(s.held, o.rate)
	case o.long:
		s.failed, s.held, s.back = o.rate, retreat*o.rate, true
	case v == late && s.tried != o.rate:
		s.again, s.tried = o, o.rate
	default:
		s.failed = o.rate
	}
}
