package call_test

import (
	"fmt"
	"strings"
	"time"

	"skyring/processor"
	"skyring/processor/call"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// The stations and the call of the tests.
const (
	stationA protocol.StationID = 0xA
	stationB protocol.StationID = 0xB
	beamA    protocol.Beam      = 1
	beamB    protocol.Beam      = 2
)

var (
	keyA    = key.Station(nil, uint64(stationA))
	keyB    = key.Station(nil, uint64(stationB))
	keyCall = key.Call(nil, key.CallID{Station: uint64(stationA), Boot: 7, Reference: 1, Sequence: 1})
)

// tester is what testing's and rapid's T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func station(s saga.Side) []byte {
	if s == saga.Called {
		return keyB
	}
	return keyA
}

func sides() []saga.Side { return []saga.Side{saga.Calling, saga.Called} }

// decodeCall reads a body that must be one.
func decodeCall(tb tester, b []byte) *call.Call {
	tb.Helper()
	c, err := call.Decode(b)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// described is a call's state in a line.
func described(c *call.Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", c.State)
	for _, s := range sides() {
		e := c.Calling
		if s == saga.Called {
			e = c.Called
		}
		fmt.Fprintf(&b, ", %v %v/%v", s, e.Dialogue, e.Hold)
		if e.Channel != 0 {
			fmt.Fprintf(&b, " %d/%d", e.Beam, e.Channel)
		}
		if e.Locked {
			b.WriteString(" locked")
		}
	}
	for _, f := range []struct {
		name string
		is   bool
	}{{"alert held", c.Alerted && c.State < call.Alerting}, {"connect held", c.Connected && c.State < call.Active}, {"confirmed", c.Confirmed}} {
		if f.is {
			b.WriteString(", " + f.name)
		}
	}
	if c.Released != 0 {
		fmt.Fprintf(&b, ", cause %d by %s", c.Cause, c.ReleasedBy)
	}
	return b.String()
}

// effects are a result's effects, a line each.
func effects(tb tester, r processor.Result, now int64) []string {
	tb.Helper()
	if r.Discard {
		return []string{"discarded"}
	}
	var lines []string
	for _, n := range r.Notify {
		lines = append(lines, "-> "+addressed(tb, n))
	}
	for _, name := range r.Cancel {
		lines = append(lines, "cancel "+call.Timer(name).String())
	}
	for _, a := range r.Arm {
		lines = append(lines, fmt.Sprintf("arm %v %v", call.Timer(a.Name), time.Duration(a.Due-now)*time.Microsecond))
	}
	for _, b := range r.CDRs {
		lines = append(lines, "CDR "+summary(tb, b))
	}
	return lines
}

// addressed is a notification and for whom it is.
func addressed(tb tester, n processor.Notification) string {
	tb.Helper()
	to := key.Format(n.Key)
	switch {
	case string(n.Key) == string(keyA):
		to = "A"
	case string(n.Key) == string(keyB):
		to = "B"
	}
	decoded, err := saga.Decode(n.Payload)
	if err != nil {
		tb.Fatal(err)
	}
	return to + " " + notification(decoded)
}

func notification(n saga.Notification) string {
	switch n := n.(type) {
	case *saga.ToStation:
		if n.Answers != 0 {
			return fmt.Sprintf("%s answers %d", essp(n.Message), n.Answers)
		}
		return essp(n.Message)
	case *saga.Offer:
		return fmt.Sprintf("Offer from %v, service %d, priority %d", n.Calling, n.Service, n.Priority)
	case *saga.EndCall:
		return "EndCall"
	case *saga.Allocate:
		return fmt.Sprintf("Allocate %v", n.Side)
	case *saga.Free:
		return fmt.Sprintf("Free %v", n.Side)
	case *saga.Freed:
		return fmt.Sprintf("Freed %v", n.Side)
	case *saga.Allocated:
		if n.OK {
			return fmt.Sprintf("Allocated %v %v", n.Side, n.Channel)
		}
		return fmt.Sprintf("Allocated %v none: %v", n.Side, n.Cause)
	default:
		return fmt.Sprintf("%T", n)
	}
}

// essp is an ESSP message with what counts of it.
func essp(m protocol.Message) string {
	name := m.Type().String()
	switch m := m.(type) {
	case protocol.ChannelAssign:
		return fmt.Sprintf("%s %v within %v", name, m.Channel, m.LockTimeout)
	case protocol.Disconnect:
		return fmt.Sprintf("%s %d", name, m.Cause)
	case protocol.Release:
		return fmt.Sprintf("%s %d", name, m.Cause)
	case protocol.ReleaseComplete:
		return fmt.Sprintf("%s %d", name, m.Cause)
	case protocol.Status:
		return fmt.Sprintf("%s %v %d", name, m.State, m.Cause)
	default:
		return name
	}
}

// summary is a CDR in a line.
func summary(tb tester, b []byte) string {
	tb.Helper()
	r, err := call.DecodeCDR(b)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("cause %d (%s) by %s, channels %d/%d and %d/%d, after %v", r.Cause, r.CauseName, r.ReleasedBy,
		r.CallingBeam, r.CallingChannel, r.CalledBeam, r.CalledChannel, time.Duration(r.Duration)*time.Microsecond)
}

// notify is the input with which a record is told something.
func notify(tb tester, from []byte, n saga.Notification, now int64) processor.Input {
	tb.Helper()
	payload, err := saga.Append(nil, n)
	if err != nil {
		tb.Fatal(err)
	}
	return processor.Input{Kind: processor.FromSession, From: from, Payload: payload, Now: now, Node: "node-1"}
}

func fire(name call.Timer, now int64) processor.Input {
	return processor.Input{Kind: processor.TimerFired, Timer: uint8(name), Now: now, Node: "node-1"}
}
