package policy

import "time"

// schedule says when something that is done at intervals is due.
type schedule struct {
	interval time.Duration // static
	started  bool
	ran      bool
	next     time.Duration
}

// newSchedule takes the interval of the options, or a default.
func newSchedule(o Options, otherwise time.Duration) schedule {
	if o.Interval > 0 {
		otherwise = o.Interval
	}

	return schedule{interval: otherwise}
}

// due says whether it is time. The first time is as soon as there is something to go by (ready), an interval after the
// first question at the latest.
func (s *schedule) due(now time.Duration, ready bool) bool {
	if !s.started {
		s.started, s.next = true, now+s.interval
	}

	switch {
	case !s.ran && ready:
		s.ran, s.next = true, now+s.interval

		return true
	case now < s.next:
		return false
	}

	s.ran = true
	if s.next += s.interval; s.next <= now { // a clock that jumped does not make it run again and again
		s.next = now + s.interval
	}

	return true
}
