package ring

import (
	"math"
	"sync/atomic"
)

// onePressure is a pressure of 1 in fixed point. Integers make all machines decide alike, and with 32 bits
// each for numerators and denominators quotients are compared without a rounding.
const onePressure = 1 << 20

// SetLoad tells how loaded a node is: messages in flight, the number at
// which it counts as full, and the number at which it takes no more
// even as the last resort (math.MaxUint32: never). It does not change the node's state. Until it
// is called a node counts as idle, with its capacity as the limit and no hard cap.
//
// It may be called at each message: of a node that is not at its limit it stores what changed and takes no lock. Calls for
// the same node take turns, else it may get the messages of one and the limit of another.
func (r *Ring) SetLoad(i int, inFlight, limit, hardCap uint32) {
	l := &r.loads[i]
	store(&l.inFlight, inFlight)
	store(&l.limit, limit)
	store(&l.hardCap, hardCap)
	r.loaded(i)
}

// SetPressure tells how used a node is besides its messages in flight: the largest
// used/threshold over what it reported (CPU, memory, rate, response). A node's weight is 1 minus the larger of this and
// (in flight + 1)/limit. Pressure is 1 at a threshold and may exceed it: such a node's weight is negative, and it is still the last resort where
// the others are worse. It is kept in steps of 2^-20 up to 4096; less than 0 and NaN count as 0, which is what a node has until
// it is called. It changes neither state nor hard cap, and costs as little as SetLoad.
func (r *Ring) SetPressure(i int, pressure float64) {
	store(&r.loads[i].pressure, fixedPressure(pressure))
	r.loaded(i)
}

// store spares the store where nothing changes: it costs many times the look.
func store(to *atomic.Uint32, value uint32) {
	if to.Load() != value {
		to.Store(value)
	}
}

// Load returns a node's load: see SetLoad.
func (r *Ring) Load(i int) (inFlight, limit, hardCap uint32) {
	l := &r.loads[i]

	return l.inFlight.Load(), l.limit.Load(), l.hardCap.Load()
}

// Pressure returns a node's pressure as it is kept: see SetPressure.
func (r *Ring) Pressure(i int) float64 { return float64(r.loads[i].pressure.Load()) / onePressure }

// fixedPressure multiplies by a power of two and rounds once: the same on every machine.
func fixedPressure(pressure float64) uint32 {
	scaled := math.Round(pressure * onePressure)

	switch {
	case !(scaled > 0): // also NaN
		return 0
	case scaled >= math.MaxUint32:
		return math.MaxUint32
	default:
		return uint32(scaled)
	}
}

// use is how used a node is, as a fraction: the larger of its pressure and (in flight + 1)/limit. The numerator is at most 2^32, and not 0; the
// denominator is less than 2^32.
type use struct{ numerator, denominator uint64 }

// useOf returns the use of a node with that load.
func useOf(inFlight, limit, pressure uint32) use {
	u := use{uint64(inFlight) + 1, uint64(limit)}
	if uint64(pressure)*u.denominator > u.numerator*onePressure {
		return use{uint64(pressure), onePressure}
	}

	return u
}

// less compares without a rounding. A denominator of 0 is more than any other.
func (u use) less(v use) bool { return u.numerator*v.denominator < v.numerator*u.denominator }

// weight is 1 minus the use, for people; the most negative number for a limit of 0.
func (u use) weight() float64 {
	if u.denominator == 0 {
		return -math.MaxFloat64
	}

	return 1 - float64(u.numerator)/float64(u.denominator)
}

// use returns how used the node is now.
func (l *load) use() use { return useOf(l.inFlight.Load(), l.limit.Load(), l.pressure.Load()) }

// lessUsed returns which of two nodes has the larger weight, the first one where they have the same.
func (c *condition) lessUsed(first, second int) int {
	if c.loads[second].use().less(c.loads[first].use()) {
		return second
	}

	return first
}

// capped says that a node takes no more, even as the last resort.
func (l *load) capped() bool { return l.inFlight.Load() >= l.hardCap.Load() }
