package client_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skyring/protocol"
	"skyring/protocol/client"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	outgoing protocol.CallReference = 1
	incoming                        = protocol.CallGateway | 5
)

// situation is where a machine is brought before a message arrives.
type situation struct {
	name string
	call protocol.CallReference // that messages are about; NoCall: messages about no call
	set  func(d *driver)
}

// stationSituations are all states of a station.
func stationSituations() []situation {
	return []situation{
		{"off", 0, func(*driver) {}},
		{"waiting", 0, func(d *driver) { d.Start(); d.Disconnected(errGone) }},
		{"connecting", 0, func(d *driver) { d.Start() }},
		{"requesting", 0, func(d *driver) { d.Start(); d.Connected() }},
		{"proving", 0, func(d *driver) {
			d.Start()
			d.Connected()
			d.respond(protocol.TypeLogonRequest, protocol.LogonChallenge{})
		}},
		{"logged on", 0, (*driver).logOn},
		{"logged on, heartbeat sent", 0, func(d *driver) { d.logOn(); d.pass() }},
		{"logged on, interrogated", 0, func(d *driver) { d.logOn(); d.request(0, protocol.LogonInterrogate{}) }},
		{"logged on, in a call", 0, func(d *driver) { d.logOn(); d.setUp() }},
		{"logging off", 0, func(d *driver) { d.logOn(); d.Stop() }},
	}
}

// callSituations are all states of a call, at either station.
func callSituations() []situation {
	return []situation{
		{"no call", outgoing, (*driver).logOn},
		{"calling, requested", outgoing, func(d *driver) { d.logOn(); d.setUp() }},
		{"calling, proceeding", outgoing, (*driver).proceeding},
		{"calling, locking", outgoing, (*driver).assigned},
		{"calling, locked", outgoing, (*driver).locked},
		{"calling, alerting", outgoing, (*driver).alerting},
		{"calling, active", outgoing, (*driver).active},
		{"calling, active, fading", outgoing, func(d *driver) { d.active(); d.must(d.Lock(d.Call(outgoing), protocol.CauseFade)) }},
		{"calling, disconnecting", outgoing, func(d *driver) { d.active(); d.must(d.HangUp(d.Call(outgoing), protocol.CauseNormalClearing)) }},
		{"calling, releasing after RELEASE", outgoing, func(d *driver) {
			d.active()
			d.must(d.HangUp(d.Call(outgoing), protocol.CauseNormalClearing))
			d.passFor(20 * time.Second)
		}},
		{"calling, releasing after DISCONNECT", outgoing, func(d *driver) {
			d.active()
			d.request(outgoing, protocol.Disconnect{Cause: protocol.CauseNormalClearing})
		}},
		{"no call yet", incoming, (*driver).logOn},
		{"called, requested", incoming, (*driver).announced},
		{"called, locking", incoming, func(d *driver) {
			d.announced()
			d.request(incoming, protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 7}})
		}},
		{"called, locked", incoming, (*driver).lockedIn},
		{"called, alerting", incoming, func(d *driver) { d.lockedIn(); d.must(d.Alert(d.Call(incoming))) }},
		{"called, answering", incoming, func(d *driver) { d.lockedIn(); d.must(d.Answer(d.Call(incoming))) }},
		{"called, active", incoming, func(d *driver) {
			d.lockedIn()
			d.must(d.Answer(d.Call(incoming)))
			d.respond(protocol.TypeCallConnect, protocol.CallConnectAck{})
		}},
		{"called, disconnecting", incoming, func(d *driver) {
			d.announced()
			d.must(d.HangUp(d.Call(incoming), protocol.CauseUserBusy))
		}},
		{"called, releasing after DISCONNECT", incoming, func(d *driver) {
			d.announced()
			d.request(incoming, protocol.Disconnect{Cause: protocol.CauseNormalClearing})
		}},
	}
}

func (d *driver) must(err error) {
	d.t.Helper()

	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *driver) setUp() {
	d.t.Helper()

	c, err := d.Place(peer, client.CallOptions{Service: protocol.ServiceVoice})
	d.must(err)

	if c.Reference() != outgoing || c.Peer() != peer || c.Incoming() || c.Sequence() == 0 {
		d.t.Fatalf("call %s, peer %s, sequence %d", c.Reference(), c.Peer(), c.Sequence())
	}
}

func (d *driver) proceeding() {
	d.t.Helper()
	d.logOn()
	d.setUp()
	d.respond(protocol.TypeCallSetup, protocol.CallProceeding{})
}

func (d *driver) assigned() {
	d.t.Helper()
	d.proceeding()
	d.request(outgoing, protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 7}, LockTimeout: 9 * time.Second})
}

func (d *driver) locked() {
	d.t.Helper()
	d.assigned()
	d.must(d.Lock(d.Call(outgoing), 0))
}

func (d *driver) alerting() {
	d.t.Helper()
	d.locked()
	d.request(outgoing, protocol.CallAlert{})
}

func (d *driver) active() {
	d.t.Helper()
	d.alerting()
	d.request(outgoing, protocol.CallConnect{})
}

func (d *driver) announced() {
	d.t.Helper()
	d.logOn()
	d.request(incoming, protocol.CallAnnounce{Calling: peer, Service: protocol.ServiceVoice})
}

func (d *driver) lockedIn() {
	d.t.Helper()
	d.announced()
	d.request(incoming, protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 7}})
	d.must(d.Lock(d.Call(incoming), 0))
}

// gatewayMessages are what a gateway may send: each message, those whose contents matter
// in each way.
func gatewayMessages() []protocol.Message {
	return []protocol.Message{
		protocol.LogonRequest{BootNonce: 1},
		protocol.LogonChallenge{},
		protocol.LogonAuth{BootNonce: 1},
		protocol.LogonConfirm{Heartbeat: time.Second, Inactivity: time.Minute},
		protocol.LogonAck{},
		protocol.LogonReject{Cause: protocol.CauseTableFull, RetryAfter: time.Minute},
		protocol.LogonReject{Cause: protocol.CauseStationNotAuthorised},
		protocol.LogonPrompt{},
		protocol.LogonInterrogate{},
		protocol.LogoffRequest{Cause: protocol.CauseOperator, StayAway: time.Minute},
		protocol.LogoffAck{},
		protocol.Heartbeat{},
		protocol.HeartbeatAck{},
		protocol.CapacityRequest{Kind: protocol.CapacityRate, Amount: 1},
		protocol.CapacityGrant{Kind: protocol.CapacityRate},
		protocol.CallSetup{Called: peer},
		protocol.CallProceeding{},
		protocol.CallAnnounce{Calling: peer},
		protocol.CallQueued{Position: 1},
		protocol.CallAlert{},
		protocol.CallConnect{},
		protocol.CallConnectAck{},
		protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 7}},
		protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 8}},
		protocol.ChannelStatus{},
		protocol.Disconnect{Cause: protocol.CauseUserBusy},
		protocol.Release{Cause: protocol.CauseUserBusy},
		protocol.ReleaseComplete{Cause: protocol.CauseUserBusy},
		protocol.Preempt{Cause: protocol.CausePreempted},
		protocol.Handover{Beam: 4},
		protocol.Overload{Level: 50, RetryAfter: time.Minute},
		protocol.Reset{Cause: protocol.CauseStateLost},
		protocol.ResetAck{},
		protocol.StatusEnquiry{},
		protocol.Status{State: protocol.StateActive},
		protocol.Status{State: protocol.StateIdle},
		protocol.Status{State: protocol.StateActive, Cause: protocol.CauseTransactionOld},
		protocol.Error{Cause: protocol.CauseNotLoggedOn},
		protocol.Error{Cause: protocol.CauseNewerLogon},
		protocol.Error{Cause: protocol.CauseMessageIncompatible},
	}
}

func TestEveryStateAndMessageOfStations(t *testing.T) {
	checkMatrix(t, "stations.txt", stationSituations())
}

func TestEveryStateAndMessageOfCalls(t *testing.T) { checkMatrix(t, "calls.txt", callSituations()) }

// TestMatrixLeavesNoMessageOut holds the list of messages to the protocol's.
func TestMatrixLeavesNoMessageOut(t *testing.T) {
	t.Parallel()

	there := map[protocol.Type]bool{}
	for _, m := range gatewayMessages() {
		there[m.Type()] = true
	}

	for n := range 256 {
		if kind := protocol.Type(n); !strings.HasPrefix(kind.String(), "message 0x") && !there[kind] {
			t.Errorf("%s is in no pair", kind)
		}
	}
}

// checkMatrix brings a machine into each situation, hands it each message, and compares
// what it did with the golden file.
func checkMatrix(t *testing.T, name string, situations []situation) {
	t.Helper()
	t.Parallel()

	var b strings.Builder

	for _, s := range situations {
		fmt.Fprintf(&b, "# %s\n", s.name)

		var nothing []string

		for _, m := range gatewayMessages() {
			for _, flags := range []protocol.Flags{0, protocol.Response} {
				pair, did := tryPair(t, s, m, flags)

				switch {
				case pair == "":
				case did == "":
					nothing = append(nothing, pair)
				default:
					fmt.Fprintf(&b, "%-28s %s\n", pair, did)
				}
			}
		}

		fmt.Fprintf(&b, "nothing: %s\n\n", strings.Join(nothing, ", "))
	}

	golden(t, name, b.String())
}

// tryPair hands one message to a machine in a situation. pair is empty where there is no
// such message.
func tryPair(t *testing.T, s situation, m protocol.Message, flags protocol.Flags) (pair, did string) {
	t.Helper()

	d := newDriver(t)
	s.set(d)
	h := protocol.Header{Type: m.Type(), Flags: flags, Station: station, Call: s.call, Sequence: d.sequence + 1}

	if flags != 0 {
		h.Sequence = d.LastSequence(s.call)
	}

	payload, err := protocol.Append(nil, h, m)
	if err != nil {
		return "", ""
	}

	d.did()

	before := d.where(s.call)
	d.Receive(payload)

	after, words := d.where(s.call), d.did()
	if after != before {
		words = append([]string{"-> " + after}, words...)
	}

	return describe(h, m), strings.Join(words, "; ")
}

// where is the state of station and call.
func (d *driver) where(call protocol.CallReference) string {
	if call == protocol.NoCall {
		return d.State().String()
	}

	text := d.Calls()[call].String()
	if d.State() != client.LoggedOn {
		text += ", station " + d.State().String()
	}

	return text
}

// golden compares text with a golden file, or writes it with -update.
func golden(t *testing.T, name, text string) {
	t.Helper()

	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if string(want) == text {
		return
	}

	wantLines, lines := strings.Split(string(want), "\n"), strings.Split(text, "\n")
	for i := range max(len(wantLines), len(lines)) {
		var a, b string
		if i < len(wantLines) {
			a = wantLines[i]
		}

		if i < len(lines) {
			b = lines[i]
		}

		if a != b {
			t.Fatalf("%s line %d:\n got %q\nwant %q", name, i+1, b, a)
		}
	}
}
