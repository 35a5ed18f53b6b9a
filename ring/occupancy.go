package ring

import (
	"math"
	"math/bits"
	"strconv"
)

// Occupancy says whether a node has its share of the keys.
type Occupancy uint8

const (
	// HasRoom nodes may be given new keys.
	HasRoom Occupancy = iota
	// Full nodes have their share of keys: the first pick of a key leaves them out while another will do.
	Full
)

// String returns the occupancy as operators read it.
func (o Occupancy) String() string {
	switch o {
	case HasRoom:
		return "has-room"
	case Full:
		return "full"
	default:
		return "occupancy " + strconv.Itoa(int(o))
	}
}

// MarshalText makes JSON say what operators read.
func (o Occupancy) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// SetFull says whether a node has its share of keys, see Bound. First picks (PickNew) go by it, no others. It is safe
// while picks run, and cheap where nothing changes.
func (r *Ring) SetFull(i int, o Occupancy) {
	if r.Occupancy(i) == o {
		return
	}

	r.writer.Lock()
	defer r.writer.Unlock()

	r.full[i].Store(uint32(o))
	r.enrol(i)
}

// Occupancy returns what SetFull last said; all nodes have room at first.
func (r *Ring) Occupancy(i int) Occupancy { return Occupancy(r.full[i].Load()) }

// Bound returns how many of a number of keys node i may have at most: max(ceil(mean), floor(1.25 mean)), where mean is
// keys*capacity/capacity of all nodes that are not ineligible; 0 for an ineligible node.
//
// The bounds of all nodes add up to keys or more: whoever counts a key that is to be placed among them always finds a node with fewer, unless nodes at
// their limit are in the way. Whether a node is full is best looked at when a first pick chose it, see the example of PickNew: that costs nothing
// for all the other nodes.
func (r *Ring) Bound(keys uint64, i int) uint64 {
	total := r.total.Load()
	if r.State(i) == Ineligible || total == 0 {
		return 0
	}

	capacity := uint64(r.capacity[i])

	ceiling, remainder := share(keys, capacity, total)
	if remainder > 0 {
		ceiling++
	}

	quarterOver, _ := share(keys, 5*capacity, 4*total)

	return max(ceiling, quarterOver)
}

// share returns keys*part/whole, rounded down, and whether something is left; the most there can be where that is more than 64 bits hold.
func share(keys, part, whole uint64) (quotient, remainder uint64) {
	high, low := bits.Mul64(keys, part)
	if high >= whole {
		return math.MaxUint64, 0
	}

	return bits.Div64(high, low, whole)
}
