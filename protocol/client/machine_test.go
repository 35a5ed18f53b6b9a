package client_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"skyring/protocol"
	"skyring/protocol/client"
)

func TestLogOnProvesTheKey(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.Start()
	d.wants("dial 127.0.0.1:1")
	d.Connected()

	request := d.Take()[0]
	if m, _ := request.Message.(protocol.LogonRequest); m != (protocol.LogonRequest{Class: 2, BootNonce: boot, Beam: 3}) || request.Header.Sequence != 1 {
		t.Fatalf("%+v %+v", request.Header, request.Message)
	}

	nonce := [protocol.NonceSize]byte{9, 8, 7}
	d.from(request.Header.Answer(), protocol.LogonChallenge{Nonce: nonce})

	auth := d.Take()[0]
	key := testConfig().Key
	want := protocol.LogonAuth{BootNonce: boot, Beam: 3, Nonce: nonce, Proof: protocol.LogonProof(key[:], station, nonce, boot, 3)}

	if m, _ := auth.Message.(protocol.LogonAuth); m != want || auth.Header.Sequence != 2 {
		t.Fatalf("%+v %+v", auth.Header, auth.Message)
	}

	d.from(auth.Header.Answer(), protocol.LogonConfirm{Heartbeat: 30 * time.Second, Inactivity: 100 * time.Second})

	ack := d.Take()[0]
	if ack.Header.Type != protocol.TypeLogonAck || !ack.Header.Response() || ack.Header.Sequence != 2 {
		t.Fatalf("%+v", ack.Header)
	}

	d.from(auth.Header.Answer(), protocol.LogonConfirm{Heartbeat: 30 * time.Second, Inactivity: 100 * time.Second})
	d.wants("send LOGON-ACK R")
}

func TestLogOnRepeatsThenTriesTheNextTarget(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.Start()
	d.Connected()

	first := d.Take()[1]

	for n := 2; n <= 5; n++ {
		before := d.Now
		d.pass()

		if waited := d.Now.Sub(before); waited != 4*time.Second {
			t.Fatalf("repetition %d after %s", n, waited)
		}

		again := d.Take()
		if len(again) != 1 || string(again[0].Payload) != string(first.Payload) {
			t.Fatalf("repetition %d is %+v", n, again)
		}
	}

	d.pass()
	d.wants("abort", "LoggedOff(the gateway is silent)")
	d.pass()
	d.wants("dial 127.0.0.1:2")
}

// TestBackOffGrows counts how long the machine waits after each attempt that fails: the
// longest wait doubles once both targets have failed.
func TestBackOffGrows(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.Random = 0.999999
	d.Start()

	for i, want := range []int{1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 120, 120, 120} {
		d.Disconnected(errGone)

		before := d.Now
		d.pass()

		if waited := d.Now.Sub(before).Round(time.Second); int(waited.Seconds()) != want {
			t.Fatalf("attempt %d after %s, want %ds", i, waited, want)
		}
	}

	d.Connected()
	d.proceedLogOn()
	d.did()
	d.Disconnected(errGone)

	before := d.Now
	d.pass()

	if waited := d.Now.Sub(before).Round(time.Second); waited != time.Second {
		t.Fatalf("first attempt after a log-on after %s", waited)
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.Start()
	d.Connected()
	d.respond(protocol.TypeLogonRequest, protocol.LogonReject{Cause: protocol.CauseTableFull, RetryAfter: time.Minute})

	before := d.Now
	d.pass()

	if waited := d.Now.Sub(before); waited < time.Minute {
		t.Fatalf("tried again after %s", waited)
	}
}

func TestPermanentRejectStops(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.Start()
	d.Connected()
	d.respond(protocol.TypeLogonRequest, protocol.LogonReject{Cause: protocol.CauseStationNotAuthorised})

	stopped, err := d.Stopped()
	if !stopped || !errors.Is(err, &client.CauseError{Cause: protocol.CauseStationNotAuthorised, Origin: client.FromGateway}) {
		t.Fatalf("stopped %t: %v", stopped, err)
	}

	if !d.Deadline().IsZero() {
		t.Error("something is due of a machine that has stopped")
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.logOn()
	d.did()

	before := d.Now
	d.pass()
	d.wants("send HEARTBEAT")

	if quiet := d.Now.Sub(before); quiet != 27*time.Second {
		t.Errorf("HEARTBEAT after %s of silence", quiet)
	}

	d.from(protocol.Header{Flags: protocol.Response, Sequence: d.LastSequence(0)}, protocol.HeartbeatAck{})
	d.wants()
	d.pass()
	d.wants("send HEARTBEAT")

	for range 3 {
		d.pass()
		d.wants("send HEARTBEAT")
	}

	d.pass()
	d.wants("abort", "LoggedOff(the gateway is silent)")
}

// TestCallOutlivesTheAssociation loses the association of an active call: the log-on with
// the next target keeps it, and what was under way is sent again under its sequence.
func TestCallOutlivesTheAssociation(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.active()
	d.must(d.HangUp(d.Call(outgoing), protocol.CauseNormalClearing))

	hangUp := d.last(protocol.TypeDisconnect)

	d.Disconnected(errGone)
	d.wants("LoggedOff(association gone)")
	d.passFor(2 * time.Second)
	d.wants("dial 127.0.0.1:2")
	d.Connected()
	d.respond(protocol.TypeLogonRequest, protocol.LogonChallenge{})

	auth := d.last(protocol.TypeLogonAuth)
	d.from(auth.Answer(), protocol.LogonConfirm{Heartbeat: time.Minute, Inactivity: time.Hour})

	if again := d.last(protocol.TypeDisconnect); again != hangUp {
		t.Fatalf("%+v was sent again as %+v", hangUp, again)
	}

	if d.Calls()[outgoing] != protocol.StateDisconnecting {
		t.Errorf("the call is %s", d.Calls()[outgoing])
	}

	d.from(hangUp.Answer(), protocol.Release{})
	d.wants("send RELEASE-COMPLETE(0)", "Cleared(normal call clearing (16, temporary, from the station))")
}

func TestCallsEndWhenTheFadeIsTooLong(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.active()
	d.did()
	d.Disconnected(errGone)
	d.passFor(89 * time.Second)

	if d.Calls()[outgoing] != protocol.StateActive {
		t.Fatal("the call ended before T309")
	}

	d.did()
	d.passFor(2 * time.Second)
	d.wants("Cleared(destination out of order (27, temporary, from the timer))")
}

// TestRepeatedRequestsOfTheGateway sends each request twice: the second gets the same answer
// and has no effect; what fell out of the ring gets STATUS.
func TestRepeatedRequestsOfTheGateway(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.locked()
	d.did()

	alert := protocol.Header{Call: outgoing, Sequence: 50}
	d.from(alert, protocol.CallAlert{})
	d.wants("Alerting", "send STATUS R(alerting)")
	d.from(alert, protocol.CallAlert{})
	d.wants("send STATUS R(alerting)")

	d.from(protocol.Header{Call: outgoing, Sequence: 51}, protocol.CallConnect{})
	d.wants("send CALL-CONNECT-ACK R", "Connected")
	d.from(alert, protocol.CallAlert{})
	d.wants("send STATUS R(alerting)")

	for n := range uint32(40) {
		d.from(protocol.Header{Call: outgoing, Sequence: 60 + n}, protocol.StatusEnquiry{})
	}

	d.did()
	d.from(alert, protocol.CallAlert{})
	d.wants("send STATUS R(active, 208)")
}

// TestChannelAssignWaitsForTheModem answers CHANNEL-ASSIGN when the modem has locked, not
// before, and the repetition only then too.
func TestChannelAssignWaitsForTheModem(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.assigned()
	d.did()

	again := protocol.Header{Call: outgoing, Sequence: d.sequence}
	d.from(again, protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 7}, LockTimeout: 9 * time.Second})
	d.wants()
	d.must(d.Lock(d.Call(outgoing), 0))
	d.wants("send CHANNEL-STATUS R(locked true)")
	d.from(again, protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 7}, LockTimeout: 9 * time.Second})
	d.wants("send CHANNEL-STATUS R(locked true)")
	d.must(d.Lock(d.Call(outgoing), protocol.CauseFade))
	d.wants("send CHANNEL-STATUS(locked false)")
}

func TestModemThatNeverLocks(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.assigned()
	d.did()

	before := d.Now
	d.pass()
	d.wants("send CHANNEL-STATUS R(locked false)")

	if waited := d.Now.Sub(before); waited != 9*time.Second {
		t.Errorf("LOCK-TIMEOUT of 9s ended after %s", waited)
	}
}

// TestTimersOfCalls lets each timer of a call run out.
func TestTimersOfCalls(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name string
		set  func(*driver)
		span time.Duration
		want []string
	}{
		{"T303", func(d *driver) { d.logOn(); d.setUp() }, 9 * time.Second, []string{"send CALL-SETUP", "send DISCONNECT(102)"}},
		{"T310", (*driver).proceeding, 31 * time.Second, []string{"send HEARTBEAT", "send DISCONNECT(102)", "send HEARTBEAT"}},
		{"T310 of the called", (*driver).announced, 31 * time.Second, []string{"send HEARTBEAT", "send DISCONNECT(102)", "send HEARTBEAT"}},
		{
			"T313", func(d *driver) { d.lockedIn(); d.must(d.Answer(d.Call(incoming))) }, 17 * time.Second,
			[]string{"send CALL-CONNECT", "send CALL-CONNECT", "send CALL-CONNECT", "send DISCONNECT(102)"},
		},
		{"T305, T308", func(d *driver) { d.active(); d.must(d.HangUp(d.Call(outgoing), 16)) }, 25 * time.Second, []string{
			"send DISCONNECT(16)", "send DISCONNECT(16)", "send DISCONNECT(16)", "send RELEASE(16)", "send RELEASE(16)",
			"Cleared(normal call clearing (16, temporary, from the station))",
		}},
		{
			"T308 after RELEASE as a response", func(d *driver) { d.active(); d.request(outgoing, protocol.Disconnect{Cause: 16}) }, 5 * time.Second,
			[]string{"Cleared(normal call clearing (16, temporary, from the gateway))"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			d := newDriver(t)
			c.set(d)
			d.did()
			d.passFor(c.span)
			d.wants(c.want...)
		})
	}
}

func TestRingsThreeMinutes(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.alerting()

	end := d.Now.Add(3*time.Minute + time.Second)
	for d.Now.Before(end) && d.Calls()[outgoing] == protocol.StateAlerting {
		d.pass()

		if s := d.LastSequence(0); s != 9999 { // the gateway is there
			d.from(protocol.Header{Flags: protocol.Response, Sequence: s}, protocol.HeartbeatAck{})
		}
	}

	if d.Calls()[outgoing] != protocol.StateDisconnecting {
		t.Errorf("the call is %s after T301", d.Calls()[outgoing])
	}
}

// TestNotLoggedOn logs on anew when the gateway does not know the station, and sends what it
// refused again, under its sequence and before what came later.
func TestNotLoggedOn(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.logOn()
	d.setUp()

	setup := d.last(protocol.TypeCallSetup)
	d.from(setup.Answer(), protocol.Error{Cause: protocol.CauseNotLoggedOn})

	if d.State() != client.Requesting {
		t.Fatalf("station is %s", d.State())
	}

	d.must(d.HangUp(d.Call(outgoing), protocol.CauseNormalClearing))
	d.respond(protocol.TypeLogonRequest, protocol.LogonChallenge{})
	d.from(d.last(protocol.TypeLogonAuth).Answer(), protocol.LogonConfirm{Heartbeat: time.Minute, Inactivity: time.Hour})
	d.wants("send LOGON-ACK R", "LoggedOn(127.0.0.1:1, again true)", "send DISCONNECT(16)")
}

func TestActsThatTheStateRefuses(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	if _, err := d.Place(peer, client.CallOptions{}); !errors.Is(err, client.ErrNotLoggedOn) {
		t.Errorf("call of a station that is off: %v", err)
	}

	d.announced()

	c := d.Call(incoming)
	for name, err := range map[string]error{
		"lock without channel":  d.Lock(c, 0),
		"alert without lock":    d.Alert(c),
		"answer without lock":   d.Answer(c),
		"hang up without cause": d.HangUp(c, 0),
	} {
		if !errors.Is(err, client.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}

	d.setUp()

	if _, err := d.Place(peer, client.CallOptions{}); !errors.Is(err, client.ErrBusy) {
		t.Errorf("one call too many: %v", err)
	}

	d.did()
	d.request(protocol.CallGateway|6, protocol.CallAnnounce{Calling: peer})
	d.wants("send RELEASE-COMPLETE R(17)")
}

func TestUrgentCallsAreAskedForMoreOften(t *testing.T) {
	t.Parallel()

	for priority, sends := range map[protocol.Priority]int{
		protocol.PriorityRoutine: 2, protocol.PriorityUrgency: 3, protocol.PriorityEmergency: 4, protocol.PriorityDistress: 4,
	} {
		d := newDriver(t)
		d.logOn()

		_, err := d.Place(peer, client.CallOptions{Priority: priority})
		d.must(err)

		n := 0

		for range 10 {
			for _, e := range d.Take() {
				if e.Kind == "send" && e.Header.Type == protocol.TypeCallSetup {
					n++
				}
			}

			d.passFor(2 * time.Second)
		}

		if n != sends {
			t.Errorf("priority %s: CALL-SETUP was sent %d times, want %d", priority, n, sends)
		}
	}
}

// TestMalformedRequests are answered, unless nobody answers their kind.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.logOn()
	d.did()

	good, err := protocol.Append(nil, protocol.Header{Station: station, Call: incoming, Sequence: 4}, protocol.CallAnnounce{Calling: peer})
	d.must(err)

	d.Receive(append(slices.Clip(good), 1)) // longer than it says
	d.wants("send ERROR R(95)")
	d.Receive(good[:10])
	d.wants()

	other, err := protocol.Append(nil, protocol.Header{Station: station + 1, Sequence: 4}, protocol.Heartbeat{})
	d.must(err)
	d.Receive(other)
	d.wants()
}

func TestStopLogsOff(t *testing.T) {
	t.Parallel()

	d := newDriver(t)
	d.active()
	d.did()
	d.Stop()
	d.wants("Cleared(normal, unspecified (31, temporary, from the station))", "send LOGOFF-REQUEST(31)")
	d.passFor(17 * time.Second)

	if stopped, err := d.Stopped(); !stopped || err != nil {
		t.Errorf("stopped %t, %v, when LOGOFF-REQUEST stays without an answer", stopped, err)
	}
}
