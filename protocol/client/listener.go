package client

import (
	"net/netip"

	"skyring/protocol"
)

// Listener hears what happens to a station. Its methods are called one at a time, in the
// order of the events, by the goroutine of Run; one that blocks holds the station up, its
// timers too. They may call methods of Client and Call.
type Listener interface {
	// LoggedOn tells that a gateway has confirmed a log-on. Calls are as they were.
	LoggedOn(on LogOn)
	// LoggedOff tells why the log-on ended, or why one was refused: a *CauseError, an error of
	// protocol/transport, or ErrSilent. The client tries again by itself unless Run ends.
	LoggedOff(why error)
	// Announced tells that another station calls. To refuse, hang up.
	Announced(call *Call)
	// Proceeding tells that the gateway knows a call that this station set up.
	Proceeding(call *Call)
	// Assigned tells that the call has a channel: lock the modem to it, then call Locked or
	// LockFailed.
	Assigned(call *Call, channel protocol.Channel)
	// Alerting tells that the called user is being alerted.
	Alerting(call *Call)
	// Connected tells that the call is active.
	Connected(call *Call)
	// Cleared tells that the call has ended, and why: a *CauseError, always. It is the last of the call.
	Cleared(call *Call, why error)
}

// LogOn is a log-on that a gateway confirmed.
type LogOn struct {
	Target netip.AddrPort // the dispatcher
	Time   int64          // the gateway's time, microseconds since the Unix epoch; 0: not said
	Again  bool           // this client was logged on before
}
