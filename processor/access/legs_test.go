package access_test

import (
	"testing"
	"time"

	"skyring/processor/access"
	"skyring/processor/saga"
	"skyring/protocol"
)

// Each execution goes wrong without its rule, and right with it.
func TestLegRules(t *testing.T) {
	for _, c := range []struct {
		name string
		rule access.Rule
		run  func(g *gateway) (harmed bool)
	}{
		{"a forged station id ends a call", access.LegRule, func(g *gateway) bool {
			g.logon(home, boot)
			g.place(1, peer)
			return len(g.from(foreign, protocol.Header{Call: 1, Sequence: 500}, protocol.Disconnect{Cause: 16}).notify) > 0
		}},
		{"a forged log-off mutes a station", access.LegRule, func(g *gateway) bool {
			g.logon(home, boot)
			g.from(foreign, protocol.Header{Sequence: 500}, protocol.LogoffRequest{Cause: 31})
			return g.state() != "logged-on"
		}},
		{"a delayed message of the association before ends a call", access.LegRule, func(g *gateway) bool {
			g.logon(home, boot)
			g.place(1, peer)
			g.logon(foreign, boot)
			return len(g.from(home, protocol.Header{Call: 1, Sequence: 50}, protocol.Disconnect{Cause: 16}).notify) > 0
		}},
		{"a log-on that was overtaken takes the leg back", access.ReplayRule, func(g *gateway) bool {
			g.pass(time.Millisecond)
			late := g.auth(home, boot)
			g.logon(foreign, boot)
			g.from(home, protocol.Header{Sequence: 2}, late)
			return g.station().Epoch != foreign
		}},
		{"a recorded log-on is replayed after log-off", access.ReplayRule, func(g *gateway) bool {
			g.pass(time.Millisecond)
			recorded := g.auth(home, boot)
			g.ask(home, 0, recorded)
			g.ack(home)
			g.ask(home, 0, protocol.LogoffRequest{Cause: 31})
			g.from(home, protocol.Header{Sequence: 2}, recorded)
			return g.state() != "off"
		}},
		{"a stolen proof is used from another association", access.BindRule, func(g *gateway) bool {
			g.logon(home, boot)
			g.pass(time.Second)
			stolen := g.auth(home, boot) // and never arrives there
			g.from(foreign, protocol.Header{Sequence: 9}, stolen)
			return g.station().Epoch == foreign
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

func TestRefusedLogons(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(g *gateway, m *protocol.LogonAuth) (epoch uint64)
		cause  protocol.Cause
	}{
		{"wrong key", func(_ *gateway, m *protocol.LogonAuth) uint64 {
			other := profile(peer).Key
			m.Proof = protocol.LogonProof(other[:], self, m.Nonce, m.BootNonce, m.Beam)
			return home
		}, protocol.CauseProofInvalid},
		{"proof for another station", func(_ *gateway, m *protocol.LogonAuth) uint64 {
			own := profile(self).Key
			m.Proof = protocol.LogonProof(own[:], peer, m.Nonce, m.BootNonce, m.Beam)
			return home
		}, protocol.CauseProofInvalid},
		{"changed boot nonce", func(_ *gateway, m *protocol.LogonAuth) uint64 { m.BootNonce++; return home }, protocol.CauseProofInvalid},
		{"changed beam", func(_ *gateway, m *protocol.LogonAuth) uint64 { m.Beam = 8; return home }, protocol.CauseProofInvalid},
		{"beam not in the profile", func(g *gateway, m *protocol.LogonAuth) uint64 { m.Beam = 99; return home }, protocol.CauseBeamNotServed},
		{"nonce of one's own", func(g *gateway, m *protocol.LogonAuth) uint64 {
			m.Nonce[20] ^= 1
			*m = g.prove(m.Nonce, boot)
			return home
		}, protocol.CauseNonceExpired},
		{"another association", func(*gateway, *protocol.LogonAuth) uint64 { return foreign }, protocol.CauseNonceExpired},
		{"too late", func(g *gateway, _ *protocol.LogonAuth) uint64 { g.pass(63 * time.Second); return home }, protocol.CauseNonceExpired},
		{"before its time", func(g *gateway, _ *protocol.LogonAuth) uint64 { g.pass(-3 * time.Second); return home }, protocol.CauseNonceExpired},
		{"barred", func(g *gateway, _ *protocol.LogonAuth) uint64 { g.bar(); return home }, protocol.CauseStationBarred},
		{"removed", func(g *gateway, _ *protocol.LogonAuth) uint64 { g.body = nil; return home }, protocol.CauseStationNotAuthorised},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateway(t, self)
			m := g.auth(home, boot)
			epoch := c.change(g, &m)
			o := g.ask(epoch, 0, m)
			reject, ok := o.message().(protocol.LogonReject)
			if !ok || reject.Cause != c.cause || !o.discarded {
				t.Fatalf("came to %v", o)
			}
			if temporary := reject.Cause.Class() == protocol.Temporary; temporary != (reject.RetryAfter > 0) {
				t.Errorf("%v with retry-after %v", reject.Cause, reject.RetryAfter)
			}
		})
	}
}

func TestRequestsThatAreNotAdmittedGetNoChallenge(t *testing.T) {
	g := newGateway(t, self)
	for m, want := range map[protocol.LogonRequest]protocol.Cause{
		{Class: 3, BootNonce: 1, Beam: beam}: protocol.CauseStationNotAuthorised,
		{Class: 2, BootNonce: 1, Beam: 99}:   protocol.CauseBeamNotServed,
	} {
		if reject, _ := g.ask(home, 0, m).message().(protocol.LogonReject); reject.Cause != want {
			t.Errorf("%+v: %+v", m, reject)
		}
	}
}

// The answer to a LOGON-AUTH that is repeated is the same, and a log-on that is under way or done stays so.
func TestRepeatedLogonIsAnsweredAlike(t *testing.T) {
	g := newGateway(t, self)
	m := g.auth(home, boot)
	h := protocol.Header{Sequence: 7}
	first := g.from(home, h, m)
	g.pass(90 * time.Second) // longer than a challenge is good for
	second := g.from(home, h, m)
	if second.reply == nil || string(second.reply.payload) != string(first.reply.payload) || !second.discarded {
		t.Fatalf("%v, then %v", first, second)
	}
}

func TestReassociationKeepsCalls(t *testing.T) {
	for _, epoch := range []uint64{foreign, older} { // a new association, or one that was there all the time
		g := newGateway(t, self)
		g.logon(home, boot)
		placed := g.place(1, peer)
		offer := callKey(0x40, 1)
		announce := g.notify(offer, &saga.Offer{Calling: 0x40}).leg[0]
		g.pass(time.Second)
		o := g.ask(epoch, 0, g.auth(epoch, boot))
		if o.setLeg == nil || o.setLeg.Epoch != epoch || o.setLeg.Dispatcher != "d1" || o.setLeg.Incarnation != 5 || o.setLeg.Stream != 3 || len(o.notify) > 0 {
			t.Fatalf("%v with leg %+v", o, o.setLeg)
		}
		o = g.ack(epoch)
		if len(o.leg) != 1 || string(o.leg[0].payload) != string(announce.payload) {
			t.Errorf("after the log-on the leg gets %v", o)
		}
		if calls := g.station().Calls; len(calls) != 2 || string(calls[0].Key) != string(placed) {
			t.Errorf("calls are %+v", calls)
		}
		o = g.ask(epoch, 1, protocol.CallConnect{})
		if len(o.notify) != 1 || string(o.notify[0].key) != string(placed) {
			t.Errorf("in the call: %v", o)
		}
		o = g.from(home, protocol.Header{Sequence: 400}, protocol.Heartbeat{})
		if !o.discarded || o.abort != (home < epoch) {
			t.Errorf("on the association before: %v", o)
		}
	}
}

// A challenge that comes as LOGON-INTERROGATE is answered by LOGON-AUTH, which makes its association the leg like any other.
func TestInterrogationIsAnsweredByLogon(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.place(1, peer)
	o := g.due(access.TimerInactivity)
	interrogate := o.leg[0].message.(protocol.LogonInterrogate)
	o = g.ask(home, 0, g.prove(interrogate.Nonce, boot))
	if o.after != "await-ack" || o.setLeg == nil || o.setLeg.Epoch != home {
		t.Fatalf("came to %v", o)
	}
	if g.ack(home).after != "logged-on" || len(g.station().Calls) != 1 {
		t.Error("the call was lost")
	}
}

// A challenge answered on the wrong association is no proof: interrogation does not help a thief either.
func TestInterrogationIsBoundToItsLeg(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	interrogate := g.due(access.TimerInactivity).leg[0].message.(protocol.LogonInterrogate)
	if o := g.ask(foreign, 0, g.prove(interrogate.Nonce, boot)); !o.discarded {
		t.Errorf("came to %v", o)
	}
}

func TestLogoffIsAnsweredAgainAfterIt(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	h := protocol.Header{Sequence: 70}
	first := g.from(home, h, protocol.LogoffRequest{Cause: 31})
	again := g.from(home, h, protocol.LogoffRequest{Cause: 31})
	if again.String() != "LOGOFF-ACK, unwritten" || string(again.reply.payload) != string(first.reply.payload) {
		t.Errorf("%v, then %v", first, again)
	}
	if o := g.from(foreign, h, protocol.LogoffRequest{Cause: 31}); o.String() != "ERROR (not logged on), unwritten" {
		t.Errorf("elsewhere: %v", o)
	}
	if len(g.timers) > 0 {
		t.Errorf("timers %v are still armed", g.timers)
	}
}

// Until the station has acknowledged its log-on the gateway's requests wait, so that those from before go first.
func TestRequestsKeepTheirOrderOverALogon(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	call := g.place(1, peer)
	g.notify(call, &saga.ToStation{Message: protocol.CallAlert{}})
	g.pass(time.Second)
	g.ask(foreign, 0, g.auth(foreign, boot))
	if o := g.notify(call, &saga.ToStation{Message: protocol.CallConnect{}}); o.String() != "nothing" {
		t.Errorf("before the acknowledgement: %v", o)
	}
	if _, armed := g.timers[access.TimerRepeat]; armed {
		t.Error("repetition is armed before the acknowledgement")
	}
	if o := g.ack(foreign); o.String() != "leg:CALL-ALERT, leg:CALL-CONNECT, -> logged-on" {
		t.Errorf("after the acknowledgement: %v", o)
	}
	if due := g.timers[access.TimerRepeat]; due != g.now+4_000_000 {
		t.Errorf("repetition is due at %d, it is %d", due, g.now)
	}
}

// What waited for an acknowledgement that never came is sent nevertheless.
func TestRequestsWaitNoLongerThanForTheConfirmation(t *testing.T) {
	g := newGateway(t, self)
	g.ask(home, 0, g.auth(home, boot))
	g.notify(callKey(0x40, 1), &saga.Offer{Calling: 0x40})
	for range 3 {
		g.due(access.TimerConfirm)
	}
	if o := g.due(access.TimerConfirm); o.String() != "leg:LOGON-INTERROGATE, leg:CALL-ANNOUNCE, -> suspect" {
		t.Error(o)
	}
}

// Stations that are refused at the same time are told to come back at different times.
func TestRetriesAreSpread(t *testing.T) {
	times := map[time.Duration]bool{}
	for id := range protocol.StationID(50) {
		g := newGateway(t, id+1)
		reject, ok := g.ask(home, 0, g.prove([protocol.NonceSize]byte{}, boot)).message().(protocol.LogonReject)
		if !ok || reject.RetryAfter < 10*time.Second || reject.RetryAfter >= 15*time.Second {
			t.Fatalf("%+v", reject)
		}
		times[reject.RetryAfter] = true
	}
	if len(times) < 30 {
		t.Errorf("50 stations got %d times", len(times))
	}
}
