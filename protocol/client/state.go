package client

import "fmt"

// State is where a station is with its log-on.
type State uint8

// The states of a station.
const (
	// Off is before Run and after it.
	Off State = iota
	// Waiting has no association and waits for the next attempt.
	Waiting
	// Connecting makes an association.
	Connecting
	// Requesting has sent LOGON-REQUEST.
	Requesting
	// Proving has sent LOGON-AUTH.
	Proving
	// LoggedOn has been confirmed.
	LoggedOn
	// LoggingOff has sent LOGOFF-REQUEST.
	LoggingOff
)

// States is the number of states.
const States = int(LoggingOff) + 1

// String is the state in lower case words.
func (s State) String() string {
	names := [...]string{"off", "waiting", "connecting", "requesting", "proving", "logged on", "logging off"}
	if int(s) >= len(names) {
		return fmt.Sprintf("state %d", uint8(s))
	}

	return names[s]
}

// associated tells whether the state has an association.
func (s State) associated() bool { return s >= Requesting }
