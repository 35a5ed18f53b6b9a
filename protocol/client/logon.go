package client

import (
	"errors"
	"slices"
	"time"

	"skyring/protocol"
)

// requestLogOn begins a log-on on the association that there is.
func (m *machine) requestLogOn(at moment) {
	m.state = Requesting
	m.dropRequests(func(r *request) bool { return r.call == nil })
	m.request(at, m.priority(), nil, protocol.LogonRequest{Class: m.cfg.Class, BootNonce: m.boot, Beam: m.cfg.Beam})
}

// priority of a log-on is that of the most urgent call.
func (m *machine) priority() protocol.Priority {
	var p protocol.Priority
	for _, c := range m.calls {
		p = max(p, c.priority)
	}

	return p
}

// prove answers a nonce.
func (m *machine) prove(at moment, nonce [protocol.NonceSize]byte) {
	m.dropRequests(func(r *request) bool { return r.message.Type() == protocol.TypeLogonAuth })

	key := m.cfg.Key
	m.request(at, m.priority(), nil, protocol.LogonAuth{
		BootNonce: m.boot, Beam: m.cfg.Beam, Nonce: nonce,
		Proof: protocol.LogonProof(key[:], m.cfg.Station, nonce, m.boot, m.cfg.Beam),
	})
}

// logOnResponse takes the answer to a request about no call.
func (m *machine) logOnResponse(at moment, h protocol.Header, msg protocol.Message) {
	if confirm, ok := msg.(protocol.LogonConfirm); ok && h.Sequence == m.confirmed && m.state == LoggedOn {
		m.acknowledge(at, h, confirm) // its acknowledgement was lost

		return
	}

	r := m.answered(h, msg)
	if r == nil {
		return
	}

	switch msg := msg.(type) {
	case protocol.LogonChallenge:
		m.state = Proving
		m.prove(at, msg.Nonce)
	case protocol.LogonConfirm:
		m.confirm(at, h, msg)
	case protocol.LogonReject:
		m.refused(at, &CauseError{Cause: msg.Cause, Origin: FromGateway, RetryAfter: msg.RetryAfter})
	case protocol.Overload:
		m.notServed(at, r, &CauseError{Cause: protocol.CauseOverload, Origin: FromGateway, RetryAfter: msg.RetryAfter})
	case protocol.Error:
		m.notServed(at, r, &CauseError{Cause: msg.Cause, Origin: FromGateway})
	case protocol.LogoffAck:
		m.end()
	}
}

// confirm takes over a log-on.
func (m *machine) confirm(at moment, h protocol.Header, msg protocol.LogonConfirm) {
	m.acknowledge(at, h, msg)

	if m.state == LoggedOn { // the gateway only wanted a proof
		return
	}

	m.state, m.attempts, m.lost = LoggedOn, 0, time.Time{}
	on := LogOn{Target: m.cfg.Targets[m.target], Time: msg.Time, Again: m.wasOn}
	m.wasOn, m.reported = true, true
	m.tell(func(l Listener) { l.LoggedOn(on) })
	m.resume(at)
}

// acknowledge tells the gateway that its confirmation came.
func (m *machine) acknowledge(at moment, h protocol.Header, msg protocol.LogonConfirm) {
	m.confirmed = h.Sequence
	m.heartbeat = at.around(msg.Heartbeat * 9 / 10)
	m.send(at, h.Answer(), protocol.LogonAck{})
}

// refused ends an attempt to log on, or the log-on, and for good when no repetition helps.
func (m *machine) refused(at moment, why *CauseError) {
	if why.Cause.Class() != protocol.Temporary {
		m.fatal = why
		m.offline(why)
		m.reported = false
		m.end()

		return
	}

	m.leave(at, why)
}

// notServed takes ERROR or OVERLOAD as an answer about no call.
func (m *machine) notServed(at moment, r *request, why *CauseError) {
	switch {
	case m.state == LoggingOff:
		m.end()
	case m.state == LoggedOn && why.Cause == protocol.CauseNotLoggedOn:
		m.requestLogOn(at)
	case m.state == LoggedOn && why.Cause == protocol.CauseNewerLogon:
		m.outdated(at)
	case m.state == LoggedOn && is[protocol.Heartbeat](r.message):
		// It answers, so it is there.
	default:
		m.leave(at, why)
	}
}

// leave closes the association and tries the next target.
func (m *machine) leave(at moment, why *CauseError) {
	m.do(effect{kind: effectClose})
	m.away(at, why, why.RetryAfter)
}

// outdated leaves an association in whose place another log-on of this station has come.
func (m *machine) outdated(at moment) {
	m.leave(at, &CauseError{Cause: protocol.CauseNewerLogon, Origin: FromGateway})
}

// loggedOffByGateway takes LOGOFF-REQUEST.
func (m *machine) loggedOffByGateway(at moment, h protocol.Header, msg protocol.LogoffRequest) {
	why := &CauseError{Cause: msg.Cause, Origin: FromGateway, RetryAfter: msg.StayAway}

	m.respond(at, h, protocol.LogoffAck{})
	m.clearAll(why)

	if m.state == LoggingOff {
		m.end()

		return
	}

	if m.state == LoggedOn {
		m.refused(at, why)
	}
}

// beat shows the gateway that the station is there when it has said nothing for a while.
func (m *machine) beat(at moment) {
	if m.state != LoggedOn || at.now.Before(m.sentLast.Add(m.heartbeat)) || m.waiting(nil, protocol.TypeHeartbeat) {
		return
	}

	m.request(at, 0, nil, protocol.Heartbeat{})
}

// malformed answers a request that could not be decoded, so that its sender stops
// repeating it (section 4.3).
func (m *machine) malformed(at moment, h protocol.Header, err error) {
	fault, ok := errors.AsType[*protocol.DecodeError](err)
	if !ok || h.Response() || isNotice(h.Type) || h.Station == 0 || h.Sequence == 0 {
		return
	}

	if _, err := protocol.Append(nil, h.Answer(), fault.Message()); err == nil { // its header may be beyond an answer
		m.send(at, h.Answer(), fault.Message())
	}
}

// isNotice tells whether nobody answers messages of a type.
func isNotice(t protocol.Type) bool {
	return slices.Contains([]protocol.Type{
		protocol.TypeLogonPrompt, protocol.TypeOverload, protocol.TypeError, protocol.TypeCallProceeding,
		protocol.TypeCallConnectAck, protocol.TypeReleaseComplete, protocol.TypeStatus,
	}, t)
}
