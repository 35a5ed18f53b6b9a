package access_test

import (
	"testing"
	"time"

	"skyring/processor/access"
	"skyring/processor/saga"
	"skyring/protocol"
)

// Each execution goes wrong without its rule, and right with it.
func TestTransactionRules(t *testing.T) {
	setup := protocol.CallSetup{Called: peer, Service: 1}
	for _, c := range []struct {
		name string
		rule access.Rule
		run  func(g *gateway) (harmed bool)
	}{
		{"a CALL-SETUP that left the ring makes a second call", access.MarkRule, func(g *gateway) bool {
			g.logon(home, boot)
			late := protocol.Header{Call: 1, Sequence: g.next + 1}
			call := g.place(1, peer)
			g.notify(call, &saga.EndCall{})
			for range access.MaxRing {
				g.ask(home, 0, protocol.Reset{Cause: 16})
			}
			return len(g.from(home, late, setup).notify) > 0
		}},
		{"a CALL-SETUP outlives the memory", access.MarkRule, func(g *gateway) bool {
			g.logon(home, boot)
			late := protocol.Header{Call: 1, Sequence: g.next + 1}
			call := g.place(1, peer)
			g.notify(call, &saga.EndCall{})
			g.pass(time.Hour)
			g.place(2, peer)
			return len(g.from(home, late, setup).notify) > 0
		}},
		{"a CALL-SETUP outlives even the mark of its reference", access.MarkRule, func(g *gateway) bool {
			g.logon(home, boot)
			late := protocol.Header{Call: 1, Sequence: g.next + 1}
			for reference := range protocol.CallReference(200) {
				g.notify(g.place(reference+1, peer), &saga.EndCall{})
			}
			return len(g.from(home, late, setup).notify) > 0
		}},
		{"a station that restarted is taken for its former self", access.BootRule, func(g *gateway) bool {
			g.logon(home, boot)
			g.next = 10
			g.place(1, peer)
			g.logon(foreign, boot+1)
			g.next = 10
			o := g.ask(foreign, 1, setup)
			return len(o.notify) != 1
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateway(t, self)
			if c.run(g) {
				t.Error("happened though the rule is there")
			}
			g = newGateway(t, self)
			g.handler = g.handler.Without(c.rule)
			if !c.run(g) {
				t.Error("did not happen without the rule: the execution shows nothing")
			}
		})
	}
}

func TestOldTransactionsAreToldTheState(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.place(1, peer)
	old := protocol.Header{Call: 1, Sequence: g.next}
	g.pass(time.Hour)
	g.place(2, peer)
	o := g.from(home, old, protocol.CallSetup{Called: peer, Service: 1})
	if s := o.String(); s != "STATUS requested (transaction too old), unwritten" {
		t.Error(s)
	}
	if o.reply.header.Sequence != old.Sequence || !o.reply.header.Response() || o.reply.header.Call != 1 {
		t.Errorf("under header %+v", o.reply.header)
	}
}

func TestRestartEndsCalls(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.place(1, peer)
	g.notify(callKey(0x40, 1), &saga.Offer{Calling: 0x40})
	g.pass(time.Second)
	o := g.ask(foreign, 0, g.auth(foreign, boot+1))
	if len(o.notify) != 2 || len(g.station().Calls) != 0 || len(g.station().Requests) != 0 {
		t.Fatalf("came to %v", o)
	}
	for i, side := range []saga.Side{saga.Calling, saga.Called} {
		if gone := o.notify[i].what.(*saga.StationGone); gone.Side != side || gone.Cause != protocol.CauseStationRestart {
			t.Errorf("call %d is told %+v", i, gone)
		}
	}
	if _, armed := g.timers[access.TimerRepeat]; armed {
		t.Error("what was asked in the calls is still repeated")
	}
}

// A request that the call has not answered yet gets no answer when it is repeated, the call's answer once it is there, and STATUS when the call ended
// without one. It reaches the call once.
func TestRepeatedRequestsInACall(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	call := g.place(1, peer)
	h := protocol.Header{Call: 1, Sequence: g.next + 1, Priority: 3}
	if o := g.from(home, h, protocol.CallConnect{}); o.String() != "call:Forward CALL-CONNECT" {
		t.Fatal(o)
	}
	if o := g.from(home, h, protocol.CallConnect{}); o.String() != "unwritten" {
		t.Errorf("while the call works on it: %v", o)
	}
	o := g.notify(call, &saga.ToStation{Answers: h.Sequence, Message: protocol.CallConnectAck{}})
	if len(o.leg) != 1 || o.leg[0].header.Sequence != h.Sequence || !o.leg[0].header.Response() {
		t.Fatalf("the answer: %v", o)
	}
	if o := g.from(home, h, protocol.CallConnect{}); o.String() != "CALL-CONNECT-ACK, unwritten" {
		t.Errorf("when it was answered: %v", o)
	}
	g.next = h.Sequence
	g.ask(home, 1, protocol.StatusEnquiry{})
	g.notify(call, &saga.EndCall{})
	if o := g.from(home, protocol.Header{Call: 1, Sequence: g.next}, protocol.StatusEnquiry{}); o.String() != "STATUS idle (call has been cleared), unwritten" {
		t.Errorf("when the call has ended without an answer: %v", o)
	}
	if o := g.from(home, h, protocol.CallConnect{}); o.String() != "CALL-CONNECT-ACK, unwritten" {
		t.Errorf("when the call has ended: %v", o)
	}
}

// Messages about a call that is not there, or no more, tell the station so, and are written nowhere.
func TestMessagesAboutNoCall(t *testing.T) {
	want := map[string]string{
		"CALL-ALERT":       "STATUS idle (invalid call reference value), unwritten",
		"CALL-CONNECT":     "STATUS idle (invalid call reference value), unwritten",
		"CHANNEL-STATUS":   "STATUS idle (invalid call reference value), unwritten",
		"DISCONNECT":       "RELEASE-COMPLETE (invalid call reference value), unwritten",
		"RELEASE":          "RELEASE-COMPLETE (invalid call reference value), unwritten",
		"RELEASE-COMPLETE": "unwritten",
		"STATUS":           "unwritten",
		"STATUS-ENQUIRY":   "STATUS idle (response to status enquiry), unwritten",
		"RESET":            "RESET-ACK",
		"CALL-SETUP":       "CALL-PROCEEDING, call:Setup",
		"CALL-CONNECT-ACK": "unwritten",
		"CALL-PROCEEDING":  "unwritten",
		"OVERLOAD":         "unwritten",
		"ERROR":            "unwritten",
	}
	for _, m := range messages(t) {
		if m.header.Call == protocol.NoCall {
			continue
		}
		g := newGateway(t, self)
		g.logon(home, boot)
		got := m.send(g, home).String()
		expected, ok := want[m.name]
		if !ok {
			expected = "ERROR (message not compatible with state), unwritten"
		}
		if m.header.Flags == protocol.Response {
			expected = "unwritten"
		}
		if got != expected {
			t.Errorf("%s: %s, want %s", m.name, got, expected)
		}
	}
}

// Every response to every request of the gateway: those that are its responses reach the call once, the others never.
func TestResponsesReachTheCallOnce(t *testing.T) {
	proper := map[protocol.Type][]protocol.Type{
		protocol.TypeCallAnnounce:  {protocol.TypeReleaseComplete},
		protocol.TypeCallQueued:    {},
		protocol.TypeCallAlert:     {},
		protocol.TypeCallConnect:   {protocol.TypeCallConnectAck},
		protocol.TypeChannelAssign: {protocol.TypeChannelStatus},
		protocol.TypeDisconnect:    {protocol.TypeRelease, protocol.TypeReleaseComplete},
		protocol.TypeRelease:       {protocol.TypeReleaseComplete},
		protocol.TypePreempt:       {protocol.TypeRelease},
		protocol.TypeHandover:      {protocol.TypeChannelStatus},
		protocol.TypeReset:         {protocol.TypeResetAck},
		protocol.TypeStatusEnquiry: {},
	}
	for request, responses := range proper {
		for _, m := range messages(t) {
			if m.header.Flags != protocol.Response || m.header.Call == protocol.NoCall {
				continue
			}
			g := newGateway(t, self)
			g.logon(home, boot)
			call, asked := g.callAsks(request)
			h := protocol.Header{Flags: protocol.Response, Call: asked.header.Call, Sequence: asked.header.Sequence}
			response := m.make(g, home)
			if !encodes(protocol.Header{Flags: h.Flags, Station: self, Call: h.Call, Sequence: 1}, response) {
				continue
			}
			want := response.Type() == protocol.TypeStatus || response.Type() == protocol.TypeError
			for _, r := range responses {
				want = want || r == response.Type()
			}
			o := g.from(home, h, response)
			if got := len(o.notify) == 1 && string(o.notify[0].key) == string(call); got != want {
				t.Errorf("%v to %v: %v", response.Type(), request, o)
			}
			if o := g.from(home, h, response); len(o.notify) > 0 {
				t.Errorf("%v to %v again: %v", response.Type(), request, o)
			}
			if _, armed := g.timers[access.TimerRepeat]; armed == want {
				t.Errorf("%v to %v: repetition armed %v", response.Type(), request, armed)
			}
		}
	}
}

// callAsks makes a call send its station a request.
func (g *gateway) callAsks(request protocol.Type) (call []byte, asked message) {
	g.t.Helper()
	if request == protocol.TypeCallAnnounce {
		call = callKey(0x40, 1)
		return call, g.notify(call, &saga.Offer{Calling: 0x40}).leg[0]
	}
	call = g.place(1, peer)
	return call, g.notify(call, &saga.ToStation{Message: samples()[request]}).leg[0]
}

// The third word of a release that the station began is a notice: it reaches the call once, and has no answer.
func TestReleaseThatTheStationBegan(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	call := g.place(1, peer)
	g.ask(home, 1, protocol.Disconnect{Cause: 16})
	g.notify(call, &saga.ToStation{Answers: g.next, Message: protocol.Release{}})
	h := protocol.Header{Call: 1, Sequence: g.next + 1}
	if o := g.from(home, h, protocol.ReleaseComplete{}); o.String() != "call:Forward RELEASE-COMPLETE" {
		t.Fatal(o)
	}
	g.notify(call, &saga.EndCall{})
	for range 2 {
		if o := g.from(home, h, protocol.ReleaseComplete{}); o.String() != "unwritten" {
			t.Errorf("again: %v", o)
		}
		g.pass(time.Hour)
		g.ask(home, 0, protocol.Reset{Cause: 1})
	}
}

func TestMalformedMessages(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	good, err := protocol.Append(nil, protocol.Header{Station: self, Call: 1, Sequence: 9}, protocol.Disconnect{Cause: 16})
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		if at >= 8 && at < 16 { // another station's
			continue
		}
		for _, bit := range []byte{1, 0x80} {
			bad := append([]byte(nil), good...)
			bad[at] ^= bit
			if _, _, err := protocol.Decode(bad); err == nil {
				continue
			}
			for _, epoch := range []uint64{home, foreign} {
				o := g.raw(epoch, bad)
				if o.err != nil || !o.discarded || o.abort {
					t.Errorf("%x: %v", bad, o)
				}
				if e, ok := o.message().(protocol.Error); o.reply != nil && (!ok || e.Cause == protocol.CauseNotLoggedOn) {
					t.Errorf("%x: %v", bad, o)
				}
			}
		}
	}
}
