package access_test

import (
	"testing"
	"time"

	"skyring/processor/access"
	"skyring/protocol"
)

func TestConfirmationIsRepeatedAndGivenUp(t *testing.T) {
	g := newGateway(t, self)
	confirm := g.ask(home, 0, g.auth(home, boot)).reply
	for n := range 3 {
		if o := g.due(access.TimerConfirm); len(o.leg) != 1 || string(o.leg[0].payload) != string(confirm.payload) {
			t.Fatalf("repetition %d: %v", n, o)
		}
	}
	if o := g.due(access.TimerConfirm); o.String() != "leg:LOGON-INTERROGATE, -> suspect" {
		t.Errorf("after the last: %v", o)
	}
}

// A fade: the station is asked, its calls stay up, and it goes on where it was when it speaks.
func TestFade(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.place(1, peer)
	o := g.due(access.TimerInactivity)
	for range 3 {
		if o.leg[0].message.Type() != protocol.TypeLogonInterrogate || len(o.notify) > 0 {
			t.Fatalf("silence came to %v", o)
		}
		o = g.due(access.TimerInterrogation)
	}
	if _, armed := g.timers[access.TimerInterrogation]; armed || len(g.station().Calls) != 1 {
		t.Fatalf("after the last interrogation: timers %v", g.timers)
	}
	if o := g.ask(home, 0, protocol.Heartbeat{}); o.String() != "HEARTBEAT-ACK, -> logged-on" || len(g.timers) != 1 {
		t.Fatalf("when it speaks: %v, timers %v", o, g.timers)
	}
	g.due(access.TimerInactivity)
	o = g.due(access.TimerFade)
	if o.String() != "call:StationGone (signal faded), -> off, leg ends" || len(g.timers) != 0 {
		t.Errorf("when it never speaks again: %v, timers %v", o, g.timers)
	}
	if o := g.ask(home, 0, protocol.Heartbeat{}); o.String() != "ERROR (not logged on), unwritten" {
		t.Errorf("after that: %v", o)
	}
}

// Heartbeats keep a station logged on, and few of them cost a write.
func TestHeartbeatsAreCheap(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	written := 0
	for range 600 {
		g.pass(5 * time.Second)
		if due := g.timers[access.TimerInactivity]; due <= g.now {
			if o := g.fire(access.TimerInactivity); o.after != "logged-on" {
				t.Fatalf("silence was seen where there was none: %v", o)
			}
		}
		o := g.ask(home, 0, protocol.Heartbeat{})
		if o.message() != (protocol.HeartbeatAck{}) {
			t.Fatal(o)
		}
		if !o.discarded {
			written++
		}
	}
	if written > 220 || written < 150 {
		t.Errorf("%d of 600 were written", written)
	}
	if n := len(g.station().Memory.Ring); n != 0 {
		t.Errorf("%d are remembered", n)
	}
}

func TestBarringAStationThatIsOn(t *testing.T) {
	for _, byTimer := range []string{"at its next message", "by timer"} {
		t.Run(byTimer, func(t *testing.T) {
			g := newGateway(t, self)
			g.logon(home, boot)
			g.place(1, peer)
			g.bar()
			var o outcome
			if byTimer == "by timer" {
				o = g.fire(access.TimerProfile)
				if o.String() != "leg:LOGOFF-REQUEST (station barred), call:StationGone (station barred), -> logging-off" {
					t.Fatal(o)
				}
			} else {
				o = g.ask(home, 2, protocol.CallSetup{Called: peer})
				if o.String() != "ERROR (not logged on), leg:LOGOFF-REQUEST (station barred), call:StationGone (station barred), -> logging-off" {
					t.Fatal(o)
				}
			}
			h := protocol.Header{Flags: protocol.Response, Sequence: o.leg[0].header.Sequence}
			if o := g.from(home, h, protocol.LogoffAck{}); o.String() != "-> barred, leg ends" || len(g.timers) > 0 {
				t.Fatalf("%v, timers %v", o, g.timers)
			}
			b, err := access.Unbar(g.body)
			if err != nil {
				t.Fatal(err)
			}
			g.body = b
			g.pass(time.Second)
			g.logon(home, boot)
		})
	}
}

func TestSilentStationIsLoggedOff(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.bar()
	g.fire(access.TimerProfile)
	for range 3 {
		if o := g.due(access.TimerRepeat); o.String() != "leg:LOGOFF-REQUEST (station barred)" {
			t.Fatal(o)
		}
	}
	if o := g.due(access.TimerRepeat); o.String() != "-> barred, leg ends" || len(g.timers) > 0 {
		t.Errorf("%v, timers %v", o, g.timers)
	}
}

// One that was barred, and unbarred before it noticed, just logs on.
func TestLogonWhileLoggingOff(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	g.bar()
	g.fire(access.TimerProfile)
	b, err := access.Unbar(g.body)
	if err != nil {
		t.Fatal(err)
	}
	g.body = b
	g.pass(time.Second)
	g.logon(foreign, boot)
	if _, armed := g.timers[access.TimerRepeat]; armed || len(g.station().Requests) > 0 {
		t.Error("it is still told to log off")
	}
}
