package ring

import "math"

// onePressure is a pressure of 1 in fixed point. Integers make all machines decide alike, and with 32 bits
// each for numerators and denominators quotients are compared without a rounding.
const onePressure = 1 << 20

// SetLoad tells the last resort how loaded a node is: messages in flight, the number at
// which it counts as full, and the number at which it takes no more
// even as the last resort (math.MaxUint32: never). It does not change the node's state. Until it
// is called a node counts as idle, with its capacity as the limit and no hard cap.
func (r *Ring) SetLoad(i int, inFlight, limit, hardCap uint32) {
	r.writer.Lock()
	defer r.writer.Unlock()

	r.loads[i].inFlight.Store(inFlight)
	r.loads[i].limit.Store(limit)
	r.loads[i].hardCap.Store(hardCap)
	r.climb(i)
}

// SetPressure tells the last resort how used a node is besides its messages in flight: the largest
// used/threshold over what it reported (CPU, memory, rate, response). A node's weight is 1 minus the larger of this and
// (in flight + 1)/limit. Pressure is 1 at a threshold and may exceed it: such a node's weight is negative, and it is still the last resort where
// the others are worse. It is kept in steps of 2^-20 up to 4096; less than 0 and NaN count as 0, which is what a node has until
// it is called. It changes neither state nor hard cap.
func (r *Ring) SetPressure(i int, pressure float64) {
	r.writer.Lock()
	defer r.writer.Unlock()

	r.loads[i].pressure.Store(fixedPressure(pressure))
	r.climb(i)
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

// use returns how used a node is, as a fraction: the larger of its pressure and (in flight + 1)/limit.
// A limit of 0 is more than any other.
func (l *load) use() (numerator, denominator uint64) {
	numerator, denominator = uint64(l.inFlight.Load())+1, uint64(l.limit.Load())

	if pressure := uint64(l.pressure.Load()); pressure*denominator > numerator*onePressure {
		return pressure, onePressure
	}

	return numerator, denominator
}

// weight is 1 minus the use, for people; the most negative number for a limit of 0.
func (l *load) weight() float64 {
	numerator, denominator := l.use()
	if denominator == 0 {
		return -math.MaxFloat64
	}

	return 1 - float64(numerator)/float64(denominator)
}

// capped says that a node takes no more, even as the last resort.
func (l *load) capped() bool { return l.inFlight.Load() >= l.hardCap.Load() }
