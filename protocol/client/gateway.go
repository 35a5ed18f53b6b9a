package client

import (
	"slices"

	"skyring/protocol"
)

// gatewayRequest takes a request or a notice of the gateway.
func (m *machine) gatewayRequest(at moment, h protocol.Header, msg protocol.Message) {
	switch msg := msg.(type) {
	case protocol.LogonPrompt:
		if m.state == LoggedOn {
			m.requestLogOn(at)
		}

		return
	case protocol.Error:
		m.notice(at, msg)

		return
	case protocol.Overload:
		return // advice about new requests, of which a station like this makes few
	}

	if payload, known := m.memory.find(h); known {
		if payload != nil {
			m.sentLast = at.now
			m.do(effect{kind: effectSend, payload: payload})
		}

		return
	}

	switch {
	case m.memory.old(h):
		m.send(at, h.Answer(), protocol.Status{State: m.callState(h.Call), Cause: protocol.CauseTransactionOld})
	case h.Call == protocol.NoCall:
		m.memory.keep(h, nil)
		m.stationRequest(at, h, msg)
	case m.state == LoggedOn: // else the gateway will say it again, or has forgotten it
		m.memory.keep(h, nil)
		m.callRequest(at, h, msg)
	}
}

// notice takes an ERROR that answers nothing.
func (m *machine) notice(at moment, msg protocol.Error) {
	if m.state != LoggedOn {
		return
	}

	switch msg.Cause { //nolint:exhaustive // other causes tell of messages, not of the log-on
	case protocol.CauseNotLoggedOn:
		m.requestLogOn(at)
	case protocol.CauseNewerLogon:
		m.outdated(at)
	}
}

// stationRequest takes a request about no call.
func (m *machine) stationRequest(at moment, h protocol.Header, msg protocol.Message) {
	switch msg := msg.(type) {
	case protocol.LogonInterrogate:
		if m.state == LoggedOn {
			m.prove(at, msg.Nonce)
		}
	case protocol.LogoffRequest:
		m.loggedOffByGateway(at, h, msg)
	case protocol.Heartbeat:
		m.respond(at, h, protocol.HeartbeatAck{})
	case protocol.Reset:
		m.clearAll(&CauseError{Cause: msg.Cause, Origin: FromGateway})
		m.respond(at, h, protocol.ResetAck{})
	case protocol.StatusEnquiry:
		m.respond(at, h, protocol.Status{Cause: protocol.CauseResponseToEnquiry})
	case protocol.Status: // nothing that a station can do about it
	default:
		m.respond(at, h, protocol.Error{Cause: unfit(h.Type)})
	}
}

// misfit answers a request that does not fit the state of its call.
func (m *machine) misfit(at moment, h protocol.Header, c *Call) {
	m.respond(at, h, protocol.Status{State: c.state, Cause: protocol.CauseMessageIncompatible})
}

// unfit is why a station does nothing about a request: only stations send it, or it is of
// what this station does not do.
func unfit(t protocol.Type) protocol.Cause {
	later := []protocol.Type{protocol.TypeCapacityGrant, protocol.TypeCallQueued, protocol.TypePreempt, protocol.TypeHandover}
	if slices.Contains(later, t) {
		return protocol.CauseMessageTypeUnknown
	}

	return protocol.CauseMessageIncompatible
}

// callState is the state of a call, idle where there is none.
func (m *machine) callState(reference protocol.CallReference) protocol.CallState {
	if c := m.calls[reference]; c != nil {
		return c.state
	}

	return protocol.StateIdle
}

// callRequest takes a request about a call.
func (m *machine) callRequest(at moment, h protocol.Header, msg protocol.Message) {
	c := m.calls[h.Call]
	if announce, ok := msg.(protocol.CallAnnounce); ok {
		m.announced(at, h, announce)

		return
	}

	if c == nil {
		m.unknownCall(at, h, msg)

		return
	}

	switch msg := msg.(type) {
	case protocol.ChannelAssign:
		m.assigned(at, h, c, msg)
	case protocol.CallAlert:
		m.alerted(at, h, c)
	case protocol.CallConnect:
		m.connectCall(at, h, c)
	case protocol.Disconnect:
		m.cleared(at, h, c, msg)
	case protocol.Release:
		m.respond(at, h, protocol.ReleaseComplete{})
		m.clear(c, gatewayCause(msg.Cause))
	case protocol.ReleaseComplete:
		m.clear(c, gatewayCause(msg.Cause))
	case protocol.CallProceeding: // a notice; the response will come
	case protocol.CallConnectAck:
		if m.waiting(c, protocol.TypeCallConnect) {
			m.dropRequests(func(r *request) bool { return r.call == c && r.message.Type() == protocol.TypeCallConnect })
			m.active(c)
		}
	case protocol.Reset:
		m.respond(at, h, protocol.ResetAck{})
		m.clear(c, gatewayCause(msg.Cause))
	case protocol.StatusEnquiry:
		m.respond(at, h, protocol.Status{State: c.state, Cause: protocol.CauseResponseToEnquiry})
	case protocol.Status:
		m.toldStatus(c, msg)
	default:
		m.respond(at, h, protocol.Error{Cause: unfit(h.Type)})
	}
}

// gatewayCause is the cause that the gateway told, or normal clearing when it told none.
func gatewayCause(cause protocol.Cause) *CauseError {
	if cause == 0 {
		cause = protocol.CauseNormalClearing
	}

	return &CauseError{Cause: cause, Origin: FromGateway}
}

// unknownCall answers a request about a call that the station has forgotten, so that the
// gateway forgets it too.
func (m *machine) unknownCall(at moment, h protocol.Header, msg protocol.Message) {
	switch msg.(type) {
	case protocol.Disconnect:
		m.respond(at, h, protocol.Release{Cause: protocol.CauseInvalidCallReference})
	case protocol.Release:
		m.respond(at, h, protocol.ReleaseComplete{Cause: protocol.CauseInvalidCallReference})
	case protocol.Reset:
		m.respond(at, h, protocol.ResetAck{})
	case protocol.ReleaseComplete, protocol.Status, protocol.CallProceeding, protocol.CallConnectAck:
	case protocol.StatusEnquiry:
		m.respond(at, h, protocol.Status{Cause: protocol.CauseResponseToEnquiry})
	default:
		m.respond(at, h, protocol.Status{Cause: protocol.CauseInvalidCallReference})
	}
}

// announced takes CALL-ANNOUNCE.
func (m *machine) announced(at moment, h protocol.Header, msg protocol.CallAnnounce) {
	switch {
	case m.calls[h.Call] != nil:
		m.respond(at, h, protocol.Status{State: m.callState(h.Call)})

		return
	case m.engaged() >= m.cfg.MaxCalls:
		m.respond(at, h, protocol.ReleaseComplete{Cause: protocol.CauseUserBusy})

		return
	}

	c := &Call{
		owner: m.owner, reference: h.Call, peer: msg.Calling, service: msg.Service, priority: h.Priority,
		state: protocol.StateRequested,
	}
	m.calls[h.Call] = c
	c.arm(at, timerT310, m.cfg.Timers.T310)
	m.respond(at, h, protocol.Status{State: c.state})
	m.tell(func(l Listener) { l.Announced(c) })
}

// assigned takes CHANNEL-ASSIGN. It is answered when the modem has locked.
func (m *machine) assigned(at moment, h protocol.Header, c *Call, msg protocol.ChannelAssign) {
	switch {
	case c.channel == msg.Channel && !c.clearing() && c.assign == (protocol.Header{}): // told before
		m.respond(at, h, protocol.ChannelStatus{Locked: c.locked, Cause: lockCause(c.locked)})

		return
	case c.channel == msg.Channel && !c.clearing():
		c.assign = h

		return
	case c.state > protocol.StateLocking: // a channel that is in use is not changed like this
		m.misfit(at, h, c)

		return
	}

	c.state = protocol.StateLocking
	c.channel, c.locked, c.assign = msg.Channel, false, h

	timeout := msg.LockTimeout
	if timeout == 0 {
		timeout = m.cfg.Timers.T321
	}

	c.arm(at, timerT321, timeout)
	m.tell(func(l Listener) { l.Assigned(c, msg.Channel) })
}

func lockCause(locked bool) protocol.Cause {
	if locked {
		return 0
	}

	return protocol.CauseContinuityFailure
}

// alerted takes CALL-ALERT.
func (m *machine) alerted(at moment, h protocol.Header, c *Call) {
	if c.Incoming() || c.clearing() || c.state < protocol.StateLocking {
		m.misfit(at, h, c)

		return
	}

	if c.state == protocol.StateLocking {
		c.state = protocol.StateAlerting
		c.arm(at, timerT301, m.cfg.Timers.T301)
		m.tell(func(l Listener) { l.Alerting(c) })
	}

	m.respond(at, h, protocol.Status{State: c.state})
}

// connectCall takes CALL-CONNECT.
func (m *machine) connectCall(at moment, h protocol.Header, c *Call) {
	if c.Incoming() || c.clearing() || c.state < protocol.StateLocking {
		m.misfit(at, h, c)

		return
	}

	m.respond(at, h, protocol.CallConnectAck{})
	m.active(c)
}

// active connects a call, once.
func (m *machine) active(c *Call) {
	if c.state == protocol.StateActive {
		return
	}

	c.state = protocol.StateActive
	c.disarm()
	m.tell(func(l Listener) { l.Connected(c) })
}

// cleared takes DISCONNECT.
func (m *machine) cleared(at moment, h protocol.Header, c *Call, msg protocol.Disconnect) {
	m.dropRequests(func(r *request) bool { return r.call == c })

	if c.why == nil {
		c.why = gatewayCause(msg.Cause)
	}

	c.state, c.assign = protocol.StateReleasing, protocol.Header{}
	c.arm(at, timerT308, m.cfg.Timers.T308.Interval)
	m.respond(at, h, protocol.Release{})
}

// toldStatus takes STATUS: a call that the gateway does not have is none.
func (m *machine) toldStatus(c *Call, msg protocol.Status) {
	if msg.State != protocol.StateIdle {
		return
	}

	why := gatewayCause(msg.Cause)
	if msg.Cause == 0 || msg.Cause == protocol.CauseResponseToEnquiry {
		why.Cause = protocol.CauseCallCleared
	}

	m.clear(c, why)
}
