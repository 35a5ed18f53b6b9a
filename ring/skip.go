package ring

import "strconv"

// Skip says why a pick did not take a node.
type Skip uint8

const (
	// Taken nodes were not skipped.
	Taken Skip = iota
	// Avoided is the node that was just given up on.
	Avoided
	// NotEligible nodes start, drain, are stalled or dead.
	NotEligible
	// Saturated nodes are at their limit.
	Saturated
	// FullOfKeys nodes have their share of keys.
	FullOfKeys
	// HardCapped nodes have as much in flight as they may have at all.
	HardCapped
	// LessWeight nodes could be taken, but another has the larger weight, or the same and comes first: on the key's chain, or, as the
	// last resort, by index.
	LessWeight
)

// String returns the reason as operators read it.
func (s Skip) String() string {
	switch s {
	case Taken:
		return "taken"
	case Avoided:
		return "avoided"
	case NotEligible:
		return "ineligible"
	case Saturated:
		return "at-limit"
	case FullOfKeys:
		return "full-of-keys"
	case HardCapped:
		return "at-hard-cap"
	case LessWeight:
		return "less-weight"
	default:
		return "skip " + strconv.Itoa(int(s))
	}
}

// MarshalText makes JSON say what operators read.
func (s Skip) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// skip says why a search may not take a node, Taken where it may.
func (r *Ring) skip(n int, q Query) Skip {
	switch state := r.State(n); {
	case n == q.Avoid:
		return Avoided
	case state == Ineligible:
		return NotEligible
	case state != Open && q.Urgency != Emergency:
		return Saturated
	case q.Occasion == First && r.Occupancy(n) == Full:
		return FullOfKeys
	default:
		return Taken
	}
}
