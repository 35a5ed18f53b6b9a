package protocol

import "strconv"

// CallState is the state of one side of a call (section 8), as STATUS tells it.
type CallState uint8

// The states of a call.
const (
	StateIdle          CallState = 0 // there is no such call
	StateRequested     CallState = 1 // set up or announced; no channel yet
	StateQueued        CallState = 2 // waits for a channel (not built yet)
	StateAssigned      CallState = 3 // channels are held; the assignment is not taken by the station yet
	StateLocking       CallState = 4 // the station locks to its channel
	StateAlerting      CallState = 5 // the called user is being alerted
	StateActive        CallState = 6 // connected
	StateDisconnecting CallState = 7 // DISCONNECT sent
	StateReleasing     CallState = 8 // RELEASE sent
	maxCallState                 = StateReleasing
)

// String returns the state's name as the specification has it.
func (s CallState) String() string {
	names := [...]string{
		StateIdle: "idle", StateRequested: "requested", StateQueued: "queued", StateAssigned: "assigned", StateLocking: "locking",
		StateAlerting: "alerting", StateActive: "active", StateDisconnecting: "disconnecting", StateReleasing: "releasing",
	}
	if s > maxCallState {
		return "state " + strconv.Itoa(int(s))
	}

	return names[s]
}
