package access_test

import (
	"fmt"
	"testing"
	"time"

	"skyring/processor/access"
	"skyring/processor/saga"
	"skyring/protocol"
)

func TestSetupTellsTheCallWhatItIs(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.next++
	o := g.from(home, protocol.Header{Call: 5, Sequence: g.next, Priority: 4}, protocol.CallSetup{Called: peer, Service: 3})
	want := saga.Setup{Calling: self, Called: peer, Reference: 5, Service: 3, Priority: 4, Beam: beam}
	if len(o.notify) != 1 || *o.notify[0].what.(*saga.Setup) != want {
		t.Errorf("came to %+v", o)
	}
}

func TestRefusedSetups(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	for name, c := range map[string]struct {
		header protocol.Header
		called protocol.StationID
		want   string
	}{
		"itself":            {protocol.Header{Call: 1}, self, "RELEASE-COMPLETE (invalid address)"},
		"too high priority": {protocol.Header{Call: 1, Priority: 15}, peer, "RELEASE-COMPLETE (priority higher than allowed)"},
	} {
		g.next++
		c.header.Sequence = g.next
		if o := g.from(home, c.header, protocol.CallSetup{Called: c.called}); o.String() != c.want {
			t.Errorf("%s: %v", name, o)
		}
		if o := g.from(home, c.header, protocol.CallSetup{Called: c.called}); o.String() != c.want+", unwritten" {
			t.Errorf("%s, again: %v", name, o)
		}
	}
	g.place(1, peer)
	if o := g.ask(home, 1, protocol.CallSetup{Called: peer}); o.String() != "ERROR (invalid call reference value)" {
		t.Errorf("reference in use: %v", o)
	}
}

func TestCallsAtOnce(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	first := g.place(1, peer)
	g.notify(callKey(0x40, 1), &saga.Offer{Calling: 0x40})
	if o := g.ask(home, 3, protocol.CallSetup{Called: peer}); o.String() != "RELEASE-COMPLETE (too many calls at once)" {
		t.Errorf("a third call: %v", o)
	}
	if o := g.notify(callKey(0x40, 2), &saga.Offer{Calling: 0x40}); o.String() != "call:refused (user busy)" {
		t.Errorf("a third call to it: %v", o)
	}
	if o := g.notify(callKey(0x40, 3), &saga.Offer{Calling: 0x40, Priority: protocol.PriorityEmergency}); o.notify[0].what.(*saga.OfferResult).Cause != 0 {
		t.Errorf("an emergency call to it: %v", o)
	}
	g.next++
	if o := g.from(home, protocol.Header{Call: 4, Sequence: g.next, Priority: protocol.PriorityEmergency}, protocol.CallSetup{Called: peer}); len(o.notify) != 1 {
		t.Errorf("an emergency call: %v", o)
	}
	g.notify(callKey(0x40, 3), &saga.EndCall{})
	g.notify(o4(g), &saga.EndCall{})
	g.notify(first, &saga.ToStation{Message: protocol.Disconnect{Cause: 16}})
	if o := g.ask(home, 5, protocol.CallSetup{Called: peer}); o.String() != "CALL-PROCEEDING, call:Setup" {
		t.Errorf("while one is being released: %v", o)
	}
}

// o4 is the key of the call with reference 4.
func o4(g *gateway) []byte {
	for _, c := range g.station().Calls {
		if c.Reference == 4 {
			return c.Key
		}
	}
	g.t.Fatal("there is no call 4")
	return nil
}

// A station that never completes releases fills no record.
func TestReleasesThatNeverEndAreBounded(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	for n := range 100 {
		reference := protocol.CallReference(n + 1)
		g.ask(home, reference, protocol.CallSetup{Called: peer})
		g.ask(home, reference, protocol.Disconnect{Cause: 16})
	}
	if n := len(g.station().Calls); n > 20 {
		t.Errorf("%d calls", n)
	}
}

func TestOffersAndTheirAnnouncements(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	o := g.notify(callKey(0x40, 1), &saga.Offer{Calling: 0x40, Service: 2, Priority: 6})
	result := o.notify[0].what.(*saga.OfferResult)
	if *result != (saga.OfferResult{Accepted: true, Beam: beam}) {
		t.Errorf("answered with %+v", result)
	}
	m := o.leg[0]
	if m.message != (protocol.CallAnnounce{Calling: 0x40, Service: 2}) || !m.header.Call.FromGateway() || m.header.Priority != 6 || m.header.Sequence != 1 {
		t.Errorf("announced as %+v", m)
	}
	second := g.notify(callKey(0x40, 2), &saga.Offer{Calling: 0x40}).leg[0]
	if second.header.Call == m.header.Call || second.header.Sequence != 2 {
		t.Errorf("the second one has header %+v", second.header)
	}
}

// Two stations that call each other at the same time get one call, that of the lower id, whichever offer comes first.
func TestGlare(t *testing.T) {
	for _, order := range []string{lowerFirst, higherFirst, releasedBetween} {
		t.Run(order, func(t *testing.T) {
			calls, yielded := collide(t, order, nil)
			if calls != "low calls high" || yielded != "high's call" {
				t.Errorf("%q goes on, %q yielded", calls, yielded)
			}
			if order == releasedBetween { // here the release alone would do
				return
			}
			calls, _ = collide(t, order, func(h access.Handler) access.Handler { return h.Without(access.GlareRule) })
			if calls == "low calls high" {
				t.Error("the same without the rule: the execution shows nothing")
			}
		})
	}
}

// Orders in which offers that collide may come.
const (
	lowerFirst      = "the lower's offer first"
	higherFirst     = "the higher's offer first"
	releasedBetween = "the higher's offer first, and its release before the other"
)

// collide has two stations with one call at once call each other, and tells which call was accepted and which yielded or was refused for it.
func collide(t *testing.T, order string, change func(access.Handler) access.Handler) (accepted, yielded string) {
	t.Helper()
	low, high := newGateway(t, self), newGateway(t, peer)
	for _, g := range []*gateway{low, high} {
		p := profile(g.id)
		p.MaxCalls = 1
		b, err := access.SetProfile(g.body, p)
		if err != nil {
			t.Fatal(err)
		}
		g.body = b
		if change != nil {
			g.handler = change(g.handler)
		}
		g.logon(home, boot)
	}
	lowCall, highCall := low.place(1, peer), high.place(1, self)
	toHigh := func() {
		for _, n := range high.notify(lowCall, &saga.Offer{Calling: self}).notify {
			switch n := n.what.(type) {
			case *saga.OfferResult:
				if n.Accepted {
					accepted += "low calls high"
				}
			case *saga.Yield:
				yielded = "high's call"
			}
		}
	}
	toLow := func() {
		if r := low.notify(highCall, &saga.Offer{Calling: peer}).notify[0].what.(*saga.OfferResult); r.Accepted {
			accepted += "high calls low"
		} else if r.Cause == protocol.CauseGlare {
			yielded = "high's call"
		}
	}
	if order == lowerFirst {
		toHigh()
		toLow()
		return accepted, yielded
	}
	toLow()
	if order == releasedBetween {
		high.notify(highCall, &saga.ToStation{Message: protocol.Disconnect{Cause: protocol.CauseGlare}})
	}
	toHigh()
	return accepted, yielded
}

// A call that finds no room does not make the station's own call give way.
func TestGlareWithoutRoom(t *testing.T) {
	g := newGateway(t, peer)
	g.logon(home, boot)
	g.place(1, self)
	for n := range uint32(2) {
		g.notify(callKey(0x40, n), &saga.Offer{Calling: 0x40, Priority: protocol.PriorityEmergency})
	}
	if o := g.notify(callKey(self, 1), &saga.Offer{Calling: self}); o.String() != "call:refused (user busy)" {
		t.Error(o)
	}
}

func TestUnansweredRequestsAreRepeatedAndGivenUp(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	call := g.place(1, peer)
	first := g.notify(call, &saga.ToStation{Message: protocol.CallAlert{}}).leg[0]
	began := g.now
	for n := range 3 {
		o := g.due(access.TimerRepeat)
		if len(o.leg) != 1 || string(o.leg[0].payload) != string(first.payload) || len(o.notify) > 0 {
			t.Fatalf("repetition %d: %v", n, o)
		}
	}
	o := g.due(access.TimerRepeat)
	if o.String() != "call:Unanswered CALL-ALERT" || len(g.timers) != 1 {
		t.Fatalf("after the last: %v, timers %v", o, g.timers)
	}
	if d := time.Duration(g.now-began) * time.Microsecond; d != 16*time.Second {
		t.Errorf("given up after %v", d)
	}
}

func TestEachRequestIsRepeatedAtItsOwnTime(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	call := g.place(1, peer)
	g.notify(call, &saga.ToStation{Message: protocol.CallAlert{}})
	g.pass(time.Second)
	connect := g.notify(call, &saga.ToStation{Message: protocol.CallConnect{}}).leg[0]
	if o := g.due(access.TimerRepeat); o.String() != "leg:CALL-ALERT" {
		t.Errorf("first due: %v", o)
	}
	if o := g.due(access.TimerRepeat); o.String() != "leg:CALL-CONNECT" {
		t.Errorf("then due: %v", o)
	}
	g.from(home, protocol.Header{Flags: protocol.Response, Call: 1, Sequence: connect.header.Sequence}, protocol.CallConnectAck{})
	for range 2 {
		if o := g.due(access.TimerRepeat); o.String() != "leg:CALL-ALERT" {
			t.Errorf("when one was answered: %v", o)
		}
	}
	g.notify(call, &saga.EndCall{})
	if _, armed := g.timers[access.TimerRepeat]; armed {
		t.Error("repeated though the call has ended")
	}
}

func TestResetOfAllCalls(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.place(1, peer)
	g.notify(callKey(0x40, 1), &saga.Offer{Calling: 0x40})
	o := g.ask(home, 0, protocol.Reset{Cause: 41})
	if o.String() != "RESET-ACK, call:StationGone (temporary failure), call:StationGone (temporary failure)" || len(g.station().Calls) > 0 {
		t.Error(o)
	}
}

// What a call says in passing tells the station's record how far it is.
func TestStatesOfCalls(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	call := g.place(1, peer)
	for _, c := range []struct {
		m    protocol.Message
		want protocol.CallState
	}{
		{protocol.Status{State: protocol.StateRequested}, protocol.StateRequested},
		{protocol.ChannelAssign{Channel: protocol.Channel{Beam: 1, Number: 1}}, protocol.StateAssigned},
		{protocol.CallAlert{}, protocol.StateAlerting},
		{protocol.CallConnect{}, protocol.StateAlerting},
		{protocol.CallConnectAck{}, protocol.StateActive},
		{protocol.Disconnect{Cause: 16}, protocol.StateDisconnecting},
		{protocol.Release{Cause: 16}, protocol.StateReleasing},
		{protocol.CallAlert{}, protocol.StateReleasing},
	} {
		g.notify(call, &saga.ToStation{Message: c.m})
		if got := g.station().Calls[0].State; got != c.want {
			t.Errorf("after %v: %v", fmt.Sprintf("%T", c.m), got)
		}
	}
}
