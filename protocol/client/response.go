package client

import (
	"cmp"
	"slices"
	"time"

	"skyring/protocol"
)

// response takes an answer of the gateway.
func (m *machine) response(at moment, h protocol.Header, msg protocol.Message) {
	if h.Call == protocol.NoCall {
		m.logOnResponse(at, h, msg)

		return
	}

	c := m.calls[h.Call]
	if c == nil {
		return
	}

	if r := m.answered(h, msg); r != nil {
		m.callResponse(at, *r, msg)
	}
}

// callResponse takes the answer to a request about a call.
func (m *machine) callResponse(at moment, r request, msg protocol.Message) {
	c := r.call

	switch msg := msg.(type) {
	case protocol.CallProceeding:
		c.arm(at, timerT310, m.cfg.Timers.T310)
		m.tell(func(l Listener) { l.Proceeding(c) })
	case protocol.CallConnectAck:
		m.active(c)
	case protocol.Release:
		m.say(at, c, protocol.ReleaseComplete{})
		m.clear(c, gatewayCause(msg.Cause))
	case protocol.ReleaseComplete:
		m.clear(c, gatewayCause(msg.Cause))
	case protocol.Status:
		m.statusResponse(at, r, msg)
	case protocol.Overload:
		m.refusedCall(at, r, &CauseError{Cause: protocol.CauseOverload, Origin: FromGateway, RetryAfter: msg.RetryAfter})
	case protocol.Error:
		if msg.Cause == protocol.CauseNotLoggedOn || msg.Cause == protocol.CauseNewerLogon {
			m.notLoggedOn(at, r, msg)

			return
		}

		m.refusedCall(at, r, &CauseError{Cause: msg.Cause, Origin: FromGateway})
	}
}

// statusResponse takes STATUS as an answer: the request is done, or too old to be, or
// there is no such call.
func (m *machine) statusResponse(at moment, r request, msg protocol.Status) {
	switch {
	case msg.State == protocol.StateIdle:
		m.toldStatus(r.call, msg)
	case is[protocol.CallSetup](r.message):
		r.call.arm(at, timerT310, m.cfg.Timers.T310)
	case is[protocol.CallConnect](r.message):
		m.active(r.call)
	case is[protocol.Disconnect](r.message):
		m.release(at, r.call)
	}
}

// notLoggedOn logs on anew and sends the request again after that.
func (m *machine) notLoggedOn(at moment, r request, msg protocol.Error) {
	r.sent = 0
	m.pending = append(m.pending, r)
	slices.SortFunc(m.pending, func(a, b request) int { return cmp.Compare(a.header.Sequence, b.header.Sequence) })

	m.notice(at, msg)
}

// refusedCall goes on after the gateway has refused a request about a call.
func (m *machine) refusedCall(at moment, r request, why *CauseError) {
	if why.Cause == protocol.CauseInvalidCallReference {
		m.clear(r.call, why)

		return
	}

	switch r.message.(type) {
	case protocol.CallAlert, protocol.CallConnect:
		m.disconnect(at, r.call, why)
	case protocol.Disconnect:
		m.release(at, r.call)
	case protocol.ChannelStatus: // it was only told
	default:
		m.clear(r.call, why)
	}
}

// callUnanswered gives up a request about a call.
func (m *machine) callUnanswered(at moment, r request) {
	why := &CauseError{Cause: protocol.CauseTimerExpiry, Origin: FromTimer}

	switch r.message.(type) {
	case protocol.Disconnect:
		m.release(at, r.call)
	case protocol.Release:
		m.clear(r.call, why)
	case protocol.ChannelStatus: // it was only told
	default:
		m.disconnect(at, r.call, why)
	}
}

// release clears in one step, where DISCONNECT came to nothing.
func (m *machine) release(at moment, c *Call) {
	cause := protocol.CauseTimerExpiry
	if c.why != nil {
		cause = c.why.Cause
	}

	c.state = protocol.StateReleasing
	m.request(at, c.priority, c, protocol.Release{Cause: cause})
}

// expireCalls does what is due of calls.
func (m *machine) expireCalls(at moment) {
	if !m.lost.IsZero() && !at.now.Before(m.lost.Add(m.cfg.Timers.T309)) {
		m.lost = time.Time{}
		m.clearAll(&CauseError{Cause: protocol.CauseDestinationOutOfOrder, Origin: FromTimer})
	}

	for _, reference := range m.references() {
		if c := m.calls[reference]; c != nil && !c.due.IsZero() && !c.due.After(at.now) {
			m.expireCall(at, c)
		}
	}
}

func (m *machine) expireCall(at moment, c *Call) {
	expired := c.timer
	c.disarm()

	switch expired {
	case timerT301:
		m.disconnect(at, c, &CauseError{Cause: protocol.CauseNoAnswer, Origin: FromTimer})
	case timerT310:
		m.disconnect(at, c, &CauseError{Cause: protocol.CauseTimerExpiry, Origin: FromTimer})
	case timerT308:
		m.clear(c, &CauseError{Cause: protocol.CauseTimerExpiry, Origin: FromTimer})
	case timerT321:
		_ = m.lock(at, c, protocol.CauseContinuityFailure) // the state lets it
		m.awaitProgress(at, c)
	case noTimer:
	}
}
