package client

import (
	"fmt"
	"time"

	"skyring/protocol"
)

// Call is one call of a station. Its methods may be called by any goroutine, those of a
// Listener too; they send and return, and what comes of it is told to the Listener.
type Call struct {
	// static after it was made
	owner     *Client // nil in tests of the machine alone
	reference protocol.CallReference
	setup     uint32 // sequence of its CALL-SETUP; 0: it was announced
	peer      protocol.StationID
	service   uint8
	priority  protocol.Priority

	// guarded by the owner's mu
	state   protocol.CallState
	channel protocol.Channel // the zero value: none yet
	locked  bool
	assign  protocol.Header // CHANNEL-ASSIGN that waits for the modem; the zero value: none
	timer   timer           // what due is
	due     time.Time       // zero: no timer runs
	why     *CauseError     // of the clearing that goes on
}

// timer names what a call waits for.
type timer uint8

const (
	noTimer timer = iota
	timerT301
	timerT308 // for RELEASE-COMPLETE
	timerT310
	timerT321
)

// Reference names the call between station and gateway.
func (c *Call) Reference() protocol.CallReference { return c.reference }

// Sequence is that of the CALL-SETUP, by which call detail records name the call; 0 for a
// call that was announced.
func (c *Call) Sequence() uint32 { return c.setup }

// Peer is the other station.
func (c *Call) Peer() protocol.StationID { return c.peer }

// Service is what the call is for.
func (c *Call) Service() uint8 { return c.service }

// Priority is the call's precedence.
func (c *Call) Priority() protocol.Priority { return c.priority }

// Incoming tells whether the other station set the call up.
func (c *Call) Incoming() bool { return c.reference.FromGateway() }

// State is the call's state on this side.
func (c *Call) State() protocol.CallState {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()

	return c.state
}

// Channel is the channel that the call has; the zero value: none yet.
func (c *Call) Channel() protocol.Channel {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()

	return c.channel
}

// Locked tells the gateway that the modem has the channel: for the first time, or again
// after LockLost.
func (c *Call) Locked() error {
	return c.act("tell of the lock", func(m *machine, at moment) error { return m.lock(at, c, 0) })
}

// LockLost tells the gateway that the modem does not get the channel, or has lost it. A
// call that is up stays up: fades pass.
func (c *Call) LockLost(cause protocol.Cause) error {
	return c.act("tell of the lost lock", func(m *machine, at moment) error { return m.lock(at, c, cause) })
}

// Alert tells the calling station that the user of this one is being alerted. It needs a
// lock.
func (c *Call) Alert() error {
	return c.act("alert", func(m *machine, at moment) error { return m.alert(at, c) })
}

// Answer connects a call that was announced. It needs a lock.
func (c *Call) Answer() error {
	return c.act("answer", func(m *machine, at moment) error { return m.answer(at, c) })
}

// HangUp ends the call, in whatever state it is, with a cause that is not 0.
func (c *Call) HangUp(cause protocol.Cause) error {
	return c.act("hang up", func(m *machine, at moment) error { return m.hangUp(at, c, cause) })
}

// act runs an act on the owner's machine.
func (c *Call) act(name string, f func(*machine, moment) error) error {
	if err := c.owner.act(f); err != nil {
		return fmt.Errorf("%s: call %s with station %s: %w", name, c.reference, c.peer, err)
	}

	return nil
}

// arm starts a timer of the call in place of the one that ran.
func (c *Call) arm(at moment, t timer, d time.Duration) { c.timer, c.due = t, at.now.Add(d) }

// disarm stops the call's timer.
func (c *Call) disarm() { c.timer, c.due = noTimer, time.Time{} }

// clearing tells whether the call is on its way to its end.
func (c *Call) clearing() bool {
	return c.state == protocol.StateIdle || c.state == protocol.StateDisconnecting || c.state == protocol.StateReleasing
}
