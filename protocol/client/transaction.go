package client

import (
	"time"

	"skyring/protocol"
)

// request is a request of the station's own that has no answer yet.
type request struct {
	header  protocol.Header
	message protocol.Message
	call    *Call // nil: about no call
	sent    int   // how often
	due     time.Time
}

// request sends a request under the next sequence, and repeats it until it is answered.
func (m *machine) request(at moment, priority protocol.Priority, call *Call, msg protocol.Message) {
	m.sequence++

	r := request{
		header:  protocol.Header{Station: m.cfg.Station, Priority: priority, Sequence: m.sequence},
		message: msg, call: call,
	}
	if call != nil {
		r.header.Call = call.reference
	}

	m.transmit(at, &r)
	m.pending = append(m.pending, r)
}

// say sends a message about a call that has no answer, under the next sequence.
func (m *machine) say(at moment, c *Call, msg protocol.Message) {
	m.sequence++
	m.send(at, protocol.Header{
		Station: m.cfg.Station, Priority: c.priority, Call: c.reference, Sequence: m.sequence,
	}, msg)
}

// sendable tells whether the state lets the request go out: those about calls wait for a log-on.
func (m *machine) sendable(r *request) bool {
	if r.call == nil {
		return m.state.associated()
	}

	return m.state == LoggedOn
}

// transmit sends the request, if the state lets it, and sets the time of the next.
func (m *machine) transmit(at moment, r *request) {
	if !m.sendable(r) {
		return
	}

	r.sent++
	r.due = at.now.Add(at.around(m.cfg.Timers.repeat(r.message, r.header.Priority).Interval))
	m.send(at, r.header, r.message)
}

// send encodes and sends a message.
func (m *machine) send(at moment, h protocol.Header, msg protocol.Message) {
	payload, err := protocol.Append(nil, h, msg)
	if err != nil { // only what the machine itself makes is encoded
		panic(err)
	}

	m.sentLast = at.now
	m.do(effect{kind: effectSend, payload: payload})
}

// answered takes the request that a response belongs to off the list; nil: none.
func (m *machine) answered(h protocol.Header, response protocol.Message) *request {
	for i := range m.pending {
		if r := m.pending[i]; r.header.Sequence == h.Sequence && r.header.Call == h.Call && answers(r.message, response) {
			m.pending = append(m.pending[:i], m.pending[i+1:]...)

			return &r
		}
	}

	return nil
}

// waiting tells whether a request of the type about the call is unanswered.
func (m *machine) waiting(call *Call, t protocol.Type) bool {
	for i := range m.pending {
		if m.pending[i].call == call && m.pending[i].message.Type() == t {
			return true
		}
	}

	return false
}

// drop forgets one request, and tells whether it was there.
func (m *machine) drop(sequence uint32) bool {
	before := len(m.pending)
	m.dropRequests(func(r *request) bool { return r.header.Sequence == sequence })

	return len(m.pending) < before
}

// dropRequests forgets the requests that match.
func (m *machine) dropRequests(match func(*request) bool) {
	kept := m.pending[:0]

	for i := range m.pending {
		if !match(&m.pending[i]) {
			kept = append(kept, m.pending[i])
		}
	}

	clear(m.pending[len(kept):])
	m.pending = kept
}

// repeatRequests sends again what is due, and gives up what was sent often enough.
func (m *machine) repeatRequests(at moment) {
	var given []request

	for i := range m.pending {
		r := &m.pending[i]
		if !m.sendable(r) || r.due.After(at.now) {
			continue
		}

		if r.sent < m.cfg.Timers.repeat(r.message, r.header.Priority).Sends {
			m.transmit(at, r)
		} else {
			given = append(given, *r)
		}
	}

	for _, r := range given {
		if m.drop(r.header.Sequence) { // giving one up may have taken others along
			m.unanswered(at, r)
		}
	}
}

// resume sends what waited for the log-on, as if for the first time.
func (m *machine) resume(at moment) {
	for i := range m.pending {
		if m.pending[i].call != nil {
			m.pending[i].sent = 0
			m.transmit(at, &m.pending[i])
		}
	}
}

// unanswered gives a request up.
func (m *machine) unanswered(at moment, r request) {
	switch {
	case r.call != nil:
		m.callUnanswered(at, r)
	case m.state == LoggingOff:
		m.end()
	default: // log-on or heartbeat
		m.abandon(at, ErrSilent)
	}
}

// respond answers a request of the gateway.
func (m *machine) respond(at moment, h protocol.Header, msg protocol.Message) {
	payload, err := protocol.Append(nil, h.Answer(), msg)
	if err != nil {
		panic(err)
	}

	m.memory.keep(h, payload)
	m.sentLast = at.now
	m.do(effect{kind: effectSend, payload: payload})
}
