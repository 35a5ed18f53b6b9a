package client

import (
	"errors"
	"fmt"
	"time"

	"skyring/protocol"
)

// Errors that a caller's act may have.
var (
	// ErrNotLoggedOn says that the station is not logged on, so that no call can be set up.
	ErrNotLoggedOn = errors.New("the station is not logged on")
	// ErrBusy says that the station is in as many calls as it can be.
	ErrBusy = errors.New("the station is in as many calls as it can be")
	// ErrState says that the call is in no state for this.
	ErrState = errors.New("the call is in no state for this")
	// ErrStopped says that Run has ended, or is about to.
	ErrStopped = errors.New("the client has stopped")
	// ErrSilent says that the gateway answered nothing any more.
	ErrSilent = errors.New("the gateway is silent")
)

// Origin says where a cause comes from.
type Origin uint8

// The origins of a cause.
const (
	FromGateway Origin = iota + 1 // the gateway told it
	FromStation                   // the caller of this package gave it
	FromTimer                     // a timer of this side ran out
)

// String is "gateway", "station" or "timer".
func (o Origin) String() string {
	switch o {
	case FromGateway:
		return "gateway"
	case FromStation:
		return "station"
	case FromTimer:
		return "timer"
	default:
		return fmt.Sprintf("origin %d", uint8(o))
	}
}

// CauseError says why a call ended, a log-on was refused or a log-on ended.
type CauseError struct {
	Cause      protocol.Cause
	Origin     Origin
	RetryAfter time.Duration // not before, 0: not said
}

// Error names cause, its class and where it comes from.
func (e *CauseError) Error() string {
	return fmt.Sprintf("%s (%d, %s, from the %s)", e.Cause, uint8(e.Cause), e.Cause.Class(), e.Origin)
}

// Is finds another CauseError with the same cause, whatever its origin.
func (e *CauseError) Is(target error) bool {
	other, ok := target.(*CauseError)

	return ok && other.Cause == e.Cause && (other.Origin == 0 || other.Origin == e.Origin)
}
