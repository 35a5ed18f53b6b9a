package client

import "time"

// moment is what a step of the machine takes from outside: the time, and a random number
// from 0 up to 1 for whatever the step spreads.
type moment struct {
	now    time.Time
	random float64
}

// spread is a random duration from 0 up to d.
func (m moment) spread(d time.Duration) time.Duration { return time.Duration(m.random * float64(d)) }

// around is d, give or take a tenth.
func (m moment) around(d time.Duration) time.Duration {
	return d - d/10 + m.spread(d/5)
}

// earliest is the earlier of two times, of which the zero time is none.
func earliest(a, b time.Time) time.Time {
	switch {
	case a.IsZero():
		return b
	case b.IsZero(), a.Before(b):
		return a
	default:
		return b
	}
}
