package client

import (
	"maps"
	"slices"

	"skyring/protocol"
)

// Acts of the user of a station. Each is refused with ErrState where the call's state has
// no place for it.

// place sets a call up.
func (m *machine) place(at moment, called protocol.StationID, o CallOptions) (*Call, error) {
	switch {
	case m.stopping || m.stopped:
		return nil, ErrStopped
	case m.state != LoggedOn:
		return nil, ErrNotLoggedOn
	case m.engaged() >= m.cfg.MaxCalls:
		return nil, ErrBusy
	}

	c := &Call{
		owner: m.owner, reference: m.nextReference(), setup: m.sequence + 1, peer: called,
		service: o.Service, priority: o.Priority, state: protocol.StateRequested,
	}
	m.calls[c.reference] = c
	m.request(at, c.priority, c, protocol.CallSetup{Called: called, Service: o.Service})

	return c, nil
}

// engaged is how many calls count: those on their way to their end do not.
func (m *machine) engaged() int {
	n := 0

	for _, c := range m.calls {
		if !c.clearing() {
			n++
		}
	}

	return n
}

// nextReference is a reference that no call has, and that was not used for long.
func (m *machine) nextReference() protocol.CallReference {
	for {
		m.reference = m.reference%protocol.MaxCall + 1
		if m.calls[m.reference] == nil {
			return m.reference
		}
	}
}

// lock tells what became of the modem's lock; cause 0: it has it.
func (m *machine) lock(at moment, c *Call, cause protocol.Cause) error {
	if c.clearing() || c.channel == (protocol.Channel{}) {
		return ErrState
	}

	c.locked = cause == 0
	status := protocol.ChannelStatus{Cause: cause, Locked: c.locked}

	if c.assign == (protocol.Header{}) {
		m.request(at, c.priority, c, status)

		return nil
	}

	m.respond(at, c.assign, status)
	c.assign = protocol.Header{}

	if c.timer == timerT321 {
		m.awaitProgress(at, c)
	}

	return nil
}

// awaitProgress waits for what the gateway has to do next.
func (m *machine) awaitProgress(at moment, c *Call) {
	if c.Incoming() && c.locked {
		c.disarm() // it is the user's turn

		return
	}

	c.arm(at, timerT310, m.cfg.Timers.T310)
}

func (m *machine) alert(at moment, c *Call) error {
	if !c.Incoming() || !c.locked || c.state != protocol.StateLocking {
		return ErrState
	}

	c.state = protocol.StateAlerting
	m.request(at, c.priority, c, protocol.CallAlert{})

	return nil
}

func (m *machine) answer(at moment, c *Call) error {
	if !c.Incoming() || !c.locked || c.state != protocol.StateLocking && c.state != protocol.StateAlerting ||
		m.waiting(c, protocol.TypeCallConnect) {
		return ErrState
	}

	m.request(at, c.priority, c, protocol.CallConnect{})

	return nil
}

func (m *machine) hangUp(at moment, c *Call, cause protocol.Cause) error {
	if c.clearing() || cause == 0 {
		return ErrState
	}

	m.disconnect(at, c, &CauseError{Cause: cause, Origin: FromStation})

	return nil
}

// disconnect begins to clear a call.
func (m *machine) disconnect(at moment, c *Call, why *CauseError) {
	m.dropRequests(func(r *request) bool { return r.call == c })
	c.disarm()

	c.state, c.why, c.assign = protocol.StateDisconnecting, why, protocol.Header{}
	m.request(at, c.priority, c, protocol.Disconnect{Cause: why.Cause})
}

// clear ends a call.
func (m *machine) clear(c *Call, why *CauseError) {
	if c.why != nil {
		why = c.why
	}

	m.dropRequests(func(r *request) bool { return r.call == c })
	c.disarm()

	c.state, c.channel, c.locked, c.assign = protocol.StateIdle, protocol.Channel{}, false, protocol.Header{}
	delete(m.calls, c.reference)
	m.tell(func(l Listener) { l.Cleared(c, why) })
}

// clearAll ends all calls.
func (m *machine) clearAll(why *CauseError) {
	for _, reference := range m.references() {
		m.clear(m.calls[reference], why)
	}
}

// references are those of all calls, in ascending order.
func (m *machine) references() []protocol.CallReference { return slices.Sorted(maps.Keys(m.calls)) }
