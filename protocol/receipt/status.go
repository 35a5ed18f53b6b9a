package receipt

import "strconv"

// Status says what became of a message. Every status is final: the message will not
// take effect again.
type Status uint8

const (
	// Committed says that the effect is written, by this attempt or by an earlier one whose
	// reply was still stored.
	Committed Status = 1
	// Stale says that the effect was written by an earlier attempt, and its reply is no longer stored.
	Stale Status = 2
	// Quarantined says that the message made its handler fail again and again and was set aside
	// without an effect.
	Quarantined Status = 3
)

// String returns the status in lower case, or "status N" for a number that has no meaning.
func (s Status) String() string {
	switch s {
	case Committed:
		return "committed"
	case Stale:
		return "stale"
	case Quarantined:
		return "quarantined"
	default:
		return "status " + strconv.Itoa(int(s))
	}
}
