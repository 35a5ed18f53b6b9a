package client

import (
	"errors"
	"fmt"
	"time"

	"skyring/protocol"
)

// Repetition says how a request is sent again while it has no answer.
type Repetition struct {
	// Interval is the time from one sending to the next, and from the last to giving up.
	Interval time.Duration
	// Sends is how often it is sent in all, at least 1.
	Sends int
}

// Timers are the protocol's timers by their names in docs/essp.md, for a link whose delay
// is small. Scaled makes them fit another.
type Timers struct {
	// TA11 repeats LOGON-REQUEST and LOGON-AUTH; then the next gateway is tried.
	TA11 Repetition
	// T303 repeats CALL-SETUP.
	T303 Repetition
	// T305 repeats DISCONNECT; then RELEASE is sent.
	T305 Repetition
	// T308 repeats RELEASE. Its interval is also how long RELEASE-COMPLETE may take.
	T308 Repetition
	// T313 repeats CALL-CONNECT.
	T313 Repetition
	// TA50 repeats all other requests, heartbeats among them.
	TA50 Repetition

	// T301 is how long the called user may take to answer.
	T301 time.Duration
	// T309 is how long calls outlive the end of the log-on while there is no new one.
	T309 time.Duration
	// T310 is how long the gateway may take for the next step of a set-up.
	T310 time.Duration
	// T321 is how long the modem may take to lock where the gateway does not say.
	T321 time.Duration

	// T330 is the longest wait before the first new attempt to log on. The wait is drawn at random; its
	// longest doubles each time all targets have failed, up to T331.
	T330 time.Duration
	T331 time.Duration
}

// DefaultTimers are those of docs/essp.md.
func DefaultTimers() Timers {
	return Timers{
		TA11: Repetition{Interval: 4 * time.Second, Sends: 5},
		T303: Repetition{Interval: 4 * time.Second, Sends: 2},
		T305: Repetition{Interval: 4 * time.Second, Sends: 4},
		T308: Repetition{Interval: 4 * time.Second, Sends: 2},
		T313: Repetition{Interval: 4 * time.Second, Sends: 4},
		TA50: Repetition{Interval: 4 * time.Second, Sends: 4},

		T301: 3 * time.Minute,
		T309: 90 * time.Second,
		T310: 30 * time.Second,
		T321: 10 * time.Second,

		T330: time.Second,
		T331: 2 * time.Minute,
	}
}

// ScaleGEO is the factor for geostationary links: a request and its answer take up to
// 0.6 s longer (TS 24.501 stretches its 15 s timers to 27 s).
const ScaleGEO = 1.8

// Scaled is t with each time a request waits for its answer multiplied by a factor, which
// is over 0. How long users and outages may take does not depend on the link.
func (t Timers) Scaled(factor float64) Timers {
	for _, r := range []*Repetition{&t.TA11, &t.T303, &t.T305, &t.T308, &t.T313, &t.TA50} {
		r.Interval = time.Duration(float64(r.Interval) * factor)
	}

	for _, d := range []*time.Duration{&t.T310, &t.T321} {
		*d = time.Duration(float64(*d) * factor)
	}

	return t
}

// Validate names every fault at once.
func (t Timers) Validate() error {
	var faults []error

	for name, r := range map[string]Repetition{"ta11": t.TA11, "t303": t.T303, "t305": t.T305, "t308": t.T308, "t313": t.T313, "ta50": t.TA50} {
		if r.Interval <= 0 || r.Sends < 1 {
			faults = append(faults, fmt.Errorf("timers.%s: every %s, %d times: more than 0s, at least once is right", name, r.Interval, r.Sends))
		}
	}

	for name, d := range map[string]time.Duration{
		"t301": t.T301, "t309": t.T309, "t310": t.T310, "t321": t.T321, "t330": t.T330, "t331": t.T331,
	} {
		if d <= 0 {
			faults = append(faults, fmt.Errorf("timers.%s: %s: more than 0s is right", name, d))
		}
	}

	return errors.Join(faults...)
}

// repeat is how a request is repeated. Calls of high priority are asked for more often
// (section 6.2, after ICAO Annex 10).
func (t Timers) repeat(request protocol.Message, priority protocol.Priority) Repetition {
	switch request.(type) {
	case protocol.LogonRequest, protocol.LogonAuth:
		return t.TA11
	case protocol.CallSetup:
		r := t.T303

		switch {
		case priority.Emergency():
			r.Sends = max(r.Sends, sendsEmergency)
		case priority >= protocol.PriorityUrgency:
			r.Sends = max(r.Sends, sendsUrgency)
		}

		return r
	case protocol.Disconnect:
		return t.T305
	case protocol.Release:
		return t.T308
	case protocol.CallConnect:
		return t.T313
	default:
		return t.TA50
	}
}

// How often CALL-SETUP is sent in urgency, and in emergency and distress.
const (
	sendsUrgency   = 3
	sendsEmergency = 4
)

// patience is the longest wait of a station in emergency or distress.
const patience = time.Second

// backOff is how long to wait after a number of attempts that failed in a row, and not less
// than a pause that the gateway asked for (section 6.3).
func (t Timers) backOff(at moment, attempts int, pause time.Duration, targets int) time.Duration {
	longest := t.T330
	for range min(attempts/targets, 32) {
		if longest = 2 * longest; longest >= t.T331 {
			break
		}
	}

	return max(pause, at.spread(min(longest, t.T331)))
}
