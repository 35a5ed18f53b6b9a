package access

import "fmt"

// State is how far a station is logged on. Numbers are kept in the state store and never change their meaning.
//
// There is no "logon-pending": a station that was challenged and has proven nothing is known to itself alone, so that no one can fill the gateway's
// memory, or disturb the station's record, by asking for log-on.
type State uint8

// States of a station.
const (
	Off        State = 0 // not logged on; its calls are gone
	AwaitAck   State = 1 // proven and confirmed; its first word after that is awaited
	LoggedOn   State = 2
	Suspect    State = 3 // silent, interrogated; its calls stay, for it may be a fade
	Barred     State = 4 // not logged on, and refused
	LoggingOff State = 5 // told to log off; its calls are gone
)

// String is the state as docs/essp.md names it, "state(9)" for an unknown one.
func (s State) String() string {
	switch s {
	case Off:
		return "off"
	case AwaitAck:
		return "await-ack"
	case LoggedOn:
		return "logged-on"
	case Suspect:
		return "suspect"
	case Barred:
		return "barred"
	case LoggingOff:
		return "logging-off"
	default:
		return fmt.Sprintf("state(%d)", uint8(s))
	}
}

// On tells that the station takes part in calls.
func (s State) On() bool { return s == AwaitAck || s == LoggedOn || s == Suspect }
