package client

import (
	"net/netip"
	"time"

	"skyring/protocol"
)

// machine is a station's side of ESSP. It is pure: time and randomness come with each
// step, and what is to be done goes out as effects.
type machine struct {
	// static after newMachine
	cfg   Config
	boot  uint64  // boot nonce
	owner *Client // of the calls; nil in tests of the machine alone

	// log-on
	state      State
	generation int       // of the association: how many were made
	target     int       // index of the target in use, or tried next
	attempts   int       // that failed in a row
	retryAt    time.Time // when Waiting ends
	wasOn      bool      // a log-on was confirmed since start
	reported   bool      // the last LoggedOn was not followed by LoggedOff yet
	lost       time.Time // when the association of a log-on with calls ended (T309)
	confirmed  uint32    // sequence of the LOGON-AUTH last confirmed; 0 none on this association
	heartbeat  time.Duration
	sentLast   time.Time
	stopping   bool // log off, and stop
	stopped    bool
	fatal      error // why it stopped by itself

	// transactions
	sequence uint32    // of the last request sent
	pending  []request // without an answer, oldest first
	memory   memory    // of the gateway's requests

	// calls
	calls     map[protocol.CallReference]*Call
	reference protocol.CallReference // the last that was given

	effects []effect
}

// effectKind says what is to be done.
type effectKind uint8

const (
	effectDial  effectKind = iota + 1 // make an association with target
	effectSend                        // send payload on the association
	effectClose                       // end the association, what was sent first
	effectAbort                       // end the association at once
	effectTell                        // tell the listener
)

// effect is one thing that the shell is to do. Effects are done in their order.
type effect struct {
	kind       effectKind
	generation int            // the association meant; others are not touched
	target     netip.AddrPort // effectDial
	payload    []byte         // effectSend
	reason     string         // effectAbort
	tell       func(Listener) // effectTell
}

func newMachine(cfg Config, boot uint64) *machine {
	return &machine{cfg: cfg, boot: boot, calls: map[protocol.CallReference]*Call{}}
}

// start begins with the first target.
func (m *machine) start() { m.connect() }

// stop logs off, if the station is logged on, and ends.
func (m *machine) stop(at moment) {
	if m.stopping || m.stopped {
		return
	}

	m.stopping = true

	if m.state != LoggedOn {
		m.end()

		return
	}

	m.clearAll(&CauseError{Cause: protocol.CauseNormalUnspecified, Origin: FromStation})
	m.state = LoggingOff
	m.dropRequests(func(*request) bool { return true })
	m.request(at, 0, nil, protocol.LogoffRequest{Cause: protocol.CauseNormalUnspecified})
}

// end stops for good.
func (m *machine) end() {
	m.clearAll(&CauseError{Cause: protocol.CauseNormalUnspecified, Origin: FromStation})

	switch {
	case m.state.associated():
		m.do(effect{kind: effectClose})
	case m.state == Connecting:
		m.do(effect{kind: effectAbort, reason: "not wanted any more"})
	}

	if m.reported {
		m.offline(ErrStopped)
	}

	m.state, m.stopped, m.pending = Off, true, nil
}

// connect begins to make an association.
func (m *machine) connect() {
	m.generation++
	m.state = Connecting
	m.do(effect{kind: effectDial, target: m.cfg.Targets[m.target]})
}

// connected takes over an association that was made.
func (m *machine) connected(at moment) {
	m.confirmed = 0
	m.requestLogOn(at)
}

// disconnected takes notice that the association has ended, or could not be made.
func (m *machine) disconnected(at moment, why error) {
	if m.state < Connecting {
		return
	}

	m.away(at, why, 0)
}

// away goes without an association until the next attempt, which is after the back-off
// and not before pause.
func (m *machine) away(at moment, why error, pause time.Duration) {
	wasOn := m.state == LoggedOn
	m.dropRequests(func(r *request) bool { return r.call == nil })
	m.offline(why)

	if m.stopping {
		m.end()

		return
	}

	if wasOn && len(m.calls) > 0 {
		m.lost = at.now
	}

	m.target = (m.target + 1) % len(m.cfg.Targets)

	wait := m.cfg.Timers.backOff(at, m.attempts, pause, len(m.cfg.Targets))
	if m.priority().Emergency() {
		wait = min(wait, patience)
	}

	m.retryAt = at.now.Add(wait)
	m.attempts++
	m.state = Waiting
}

// abandon ends the association at once and goes on with the next target.
func (m *machine) abandon(at moment, why error) {
	m.do(effect{kind: effectAbort, reason: why.Error()})
	m.away(at, why, 0)
}

// offline tells that a log-on has ended, was refused or could not be tried.
func (m *machine) offline(why error) {
	m.reported = false
	m.tell(func(l Listener) { l.LoggedOff(why) })
}

func (m *machine) do(e effect) {
	e.generation = m.generation
	m.effects = append(m.effects, e)
}

func (m *machine) tell(f func(Listener)) { m.do(effect{kind: effectTell, tell: f}) }

// take returns the effects since the last take.
func (m *machine) take() []effect {
	effects := m.effects
	m.effects = nil

	return effects
}

// received takes a message from the gateway; err is why it could not be decoded.
func (m *machine) received(at moment, h protocol.Header, msg protocol.Message, err error) {
	if !m.state.associated() || h.Station != m.cfg.Station && h.Station != 0 {
		return
	}

	switch {
	case err != nil:
		m.malformed(at, h, err)
	case h.Response():
		m.response(at, h, msg)
	default:
		m.gatewayRequest(at, h, msg)
	}
}

// expired does what is due.
func (m *machine) expired(at moment) {
	if m.state == Waiting && !at.now.Before(m.retryAt) {
		m.connect()
	}

	m.repeatRequests(at)
	m.beat(at)
	m.expireCalls(at)
}

// deadline is when expired has something to do; the zero time: never.
func (m *machine) deadline() time.Time {
	if m.stopped {
		return time.Time{}
	}

	var due time.Time

	if m.state == Waiting {
		due = m.retryAt
	}

	for i := range m.pending {
		if m.sendable(&m.pending[i]) {
			due = earliest(due, m.pending[i].due)
		}
	}

	if m.state == LoggedOn && !m.waiting(nil, protocol.TypeHeartbeat) {
		due = earliest(due, m.sentLast.Add(m.heartbeat))
	}

	for _, c := range m.calls {
		due = earliest(due, c.due)
	}

	if !m.lost.IsZero() {
		due = earliest(due, m.lost.Add(m.cfg.Timers.T309))
	}

	return due
}
