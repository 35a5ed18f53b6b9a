package ring

import "strconv"

// State says how a node may be picked.
type State uint8

const (
	// Open nodes take messages.
	Open State = iota
	// AtLimit nodes take none while another is open, but may as the last resort; emergencies
	// may take them as if they were open.
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

// MarshalText makes JSON say what operators read.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SetState sets a node's state. It is safe while picks run.
func (r *Ring) SetState(i int, s State) {
	r.writer.Lock()
	defer r.writer.Unlock()

	old := State(r.states[i].Swap(uint32(s)))

	switch {
	case old == Ineligible && s != Ineligible:
		r.total.Add(uint64(r.capacity[i]))
	case old != Ineligible && s == Ineligible:
		r.total.Add(-uint64(r.capacity[i]))
	}

	r.enrol(i)
	r.climb(i)
}

// State returns a node's state.
func (r *Ring) State(i int) State { return State(r.states[i].Load()) }
