package access

import (
	"slices"
	"time"

	"skyring/processor/saga"
	"skyring/protocol"
)

// Timers of a station's record. Numbers are kept in the state store and never change their meaning.
const (
	TimerConfirm       uint8 = 1 // tA12: LOGON-CONFIRM is repeated
	TimerInactivity    uint8 = 2 // tG6: the station was silent
	TimerInterrogation uint8 = 3 // tA13: LOGON-INTERROGATE is repeated
	TimerFade          uint8 = 4 // tG10: the station was suspect for too long
	TimerRepeat        uint8 = 5 // tA50: a request of the gateway is repeated
	TimerProfile       uint8 = 6 // whoever changed the profile arms it for now
)

// after is a time from now, in us as timers are.
func (t *turn) after(d time.Duration) int64 { return t.now + d.Microseconds() }

func (t *turn) timer(name uint8) {
	if t.station == nil {
		return
	}
	switch name {
	case TimerConfirm:
		t.confirmAgain()
	case TimerInactivity:
		t.silence()
	case TimerInterrogation:
		if t.station.State == Suspect && t.station.Sends < t.config.Sends {
			t.interrogate()
		}
	case TimerFade:
		if t.station.State == Suspect {
			t.endCalls(protocol.CauseFade)
			t.off()
		}
	case TimerRepeat:
		t.repeat()
	case TimerProfile:
		if t.station.State.On() && t.station.Profile.Barred {
			t.expel()
		}
	}
}

func (t *turn) confirmAgain() {
	switch {
	case t.station.State != AwaitAck:
	case t.station.Sends < t.config.Sends:
		t.station.Sends++
		t.toLeg(t.station.Confirm)
		t.arm(TimerConfirm, t.after(t.config.Confirm))
	default:
		t.suspect()
	}
}

// silence is not sure yet: not every message was noted.
func (t *turn) silence() {
	if t.station.State != LoggedOn {
		return
	}
	if due := t.station.Heard + t.config.Inactivity.Microseconds(); due > t.now {
		t.arm(TimerInactivity, due)
		return
	}
	t.suspect()
}

// suspect begins to ask a station whether it is still there. Calls stay up: a fade and a failure look alike.
func (t *turn) suspect() {
	before := t.station.State
	t.station.State, t.station.Sends = Suspect, 0
	t.cancel(TimerConfirm, TimerInactivity)
	t.arm(TimerFade, t.after(t.config.Fade))
	t.interrogate()
	if before == AwaitAck {
		t.resume()
	}
}

// interrogate has a challenge of its own each time. The LOGON-AUTH that comes of it is a log-on like any other.
func (t *turn) interrogate() {
	t.station.Sends++
	t.station.Sequence++
	nonce := t.config.nonce(t.id, t.station.Epoch, t.now)
	t.toLeg(t.encode(protocol.Header{Station: t.id, Sequence: t.station.Sequence}, protocol.LogonInterrogate{Nonce: nonce}))
	if t.station.Sends < t.config.Sends {
		t.arm(TimerInterrogation, t.after(t.config.Interrogation))
	}
}

// request sends a request of the gateway, which is repeated until the station responds, or a notice. While the station has not acknowledged its
// log-on, requests wait: those from before go first, so that their order is kept.
func (t *turn) request(h protocol.Header, m protocol.Message) {
	t.station.Sequence++
	h.Station, h.Sequence = t.id, t.station.Sequence
	payload := t.encode(h, m)
	if IsNotice(m.Type()) {
		t.toLeg(payload)
		return
	}
	r := Request{Call: h.Call, Type: m.Type(), Sequence: h.Sequence, Payload: payload}
	if t.station.State != AwaitAck {
		t.again(&r, 1)
	}
	t.station.Requests = append(t.station.Requests, r)
	t.armRepeat()
}

// resume sends what the station has not responded to on its new leg, in order.
func (t *turn) resume() {
	for i := range t.station.Requests {
		t.again(&t.station.Requests[i], 1)
	}
	t.armRepeat()
}

// armRepeat arms the timer for the request that is due next.
func (t *turn) armRepeat() {
	if len(t.station.Requests) == 0 || t.station.State == AwaitAck {
		t.cancel(TimerRepeat)
		return
	}
	due := t.station.Requests[0].Due
	for i := range t.station.Requests {
		due = min(due, t.station.Requests[i].Due)
	}
	t.arm(TimerRepeat, due)
}

// repeat sends again what is due, and gives up what was sent often enough.
func (t *turn) repeat() {
	if t.station.State == AwaitAck {
		return
	}
	var given []Request
	t.station.Requests = slices.DeleteFunc(t.station.Requests, func(r Request) bool {
		if r.Due > t.now || r.Sends < t.config.Sends {
			return false
		}
		given = append(given, r)
		return true
	})
	for i := range t.station.Requests {
		if r := &t.station.Requests[i]; r.Due <= t.now {
			t.again(r, r.Sends+1)
		}
	}
	for _, r := range given {
		t.giveUp(r)
	}
	if t.station.State.On() || t.station.State == LoggingOff {
		t.armRepeat()
	}
}

func (t *turn) again(r *Request, sends uint8) {
	r.Sends, r.Due = sends, t.after(t.config.Repeat)
	t.toLeg(r.Payload)
}

func (t *turn) giveUp(r Request) {
	if r.Type == protocol.TypeLogoffRequest {
		t.off()
		return
	}
	if c := t.station.call(r.Call); c != nil {
		t.notify(c.Key, &saga.Unanswered{Side: c.Side, Type: r.Type})
	}
}
