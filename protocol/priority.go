package protocol

import "strconv"

// Priority is the precedence of a message, 0 to 15, the higher before the lower
// (section 11; the numbers follow ICAO Annex 10 Volume III, where distress is 15).
type Priority uint8

// The priorities that have a name.
const (
	PriorityRoutine   Priority = 0
	PriorityPriority  Priority = 4
	PriorityImmediate Priority = 8
	PriorityFlash     Priority = 12
	PriorityUrgency   Priority = 13 // urgency and safety
	PriorityEmergency Priority = 14
	PriorityDistress  Priority = 15
	MaxPriority       Priority = 15
)

// Emergency tells whether the priority is one of those that ignore limits, stay-away and overload.
func (p Priority) Emergency() bool { return p >= PriorityEmergency }

// String returns the name of the priority, or its number where it has none.
func (p Priority) String() string {
	switch p {
	case PriorityRoutine:
		return "routine"
	case PriorityPriority:
		return "priority"
	case PriorityImmediate:
		return "immediate"
	case PriorityFlash:
		return "flash"
	case PriorityUrgency:
		return "urgency"
	case PriorityEmergency:
		return "emergency"
	case PriorityDistress:
		return "distress"
	default:
		return strconv.Itoa(int(p))
	}
}
