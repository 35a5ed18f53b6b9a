package access_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/saga"
	"skyring/protocol"
)

// states are all that a station's record may be in: "unknown" is that there is no entry in the station table. Where the station is on it has a call,
// with reference 1.
func states() []string {
	return []string{
		"unknown", access.Off.String(), access.AwaitAck.String(), access.LoggedOn.String(), access.Suspect.String(), access.Barred.String(),
		access.LoggingOff.String(),
	}
}

// inState makes a station's record get into a state by what leads there.
func inState(t *testing.T, state string) (g *gateway, call []byte) {
	t.Helper()
	g = newGateway(t, self)
	call = callKey(self, 99)
	on := func() {
		g.logon(home, boot)
		call = g.place(1, peer)
	}
	switch state {
	case "unknown":
		g.body = nil
	case "off":
	case "barred":
		g.bar()
	case "await-ack":
		on()
		g.pass(time.Second)
		g.ask(home, 0, g.auth(home, boot))
	case "logged-on":
		on()
	case "suspect":
		on()
		g.due(access.TimerInactivity)
	case "logging-off":
		on()
		g.bar()
		g.fire(access.TimerProfile)
	}
	if g.state() != state {
		t.Fatalf("%s was not reached, but %s", state, g.state())
	}
	g.pass(time.Minute)
	return g, call
}

func (g *gateway) bar() {
	g.t.Helper()
	b, err := access.Bar(g.body)
	if err != nil {
		g.t.Fatal(err)
	}
	g.body = b
}

// The table has what becomes of every message, timer and notification in every state, and the test makes sure that none is left out.
func TestEveryStateTakesEveryInput(t *testing.T) {
	table := readTable(t)
	var missing []string
	for _, in := range inputs(t) {
		for _, state := range states() {
			g, call := inState(t, state)
			name := in.name + " / " + state
			got := in.apply(g, call).String()
			want, ok := table[name]
			delete(table, name)
			switch {
			case !ok:
				missing = append(missing, name+": "+got)
			case got != want:
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d rows are missing:\n%s", len(missing), strings.Join(missing, "\n"))
	}
	for name := range table {
		t.Errorf("%s: there is no such input or state", name)
	}
}

// readTable reads lines "INPUT" and, indented, "state state: what happens".
func readTable(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/states.txt")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	input := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != '\t':
			input = line
		default:
			list, outcome, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok {
				t.Fatalf("%q is no row", line)
			}
			for state := range strings.FieldsSeq(list) {
				name := input + " / " + state
				if _, twice := table[name]; twice {
					t.Fatalf("%s is there twice", name)
				}
				table[name] = outcome
			}
		}
	}
	return table
}

type namedInput struct {
	name  string
	apply func(g *gateway, call []byte) outcome
}

func inputs(t *testing.T) []namedInput {
	t.Helper()
	var all []namedInput
	for _, m := range messages(t) {
		all = append(all, namedInput{m.name, func(g *gateway, _ []byte) outcome { return m.send(g, home) }})
	}
	for timer, name := range map[uint8]string{
		access.TimerConfirm: "confirm", access.TimerInactivity: "inactivity", access.TimerInterrogation: "interrogation",
		access.TimerFade: "fade", access.TimerRepeat: "repeat", access.TimerProfile: "profile", 99: "unknown",
	} {
		all = append(all, namedInput{"timer " + name, func(g *gateway, _ []byte) outcome { return g.fire(timer) }})
	}
	for name, n := range map[string]saga.Notification{
		"ToStation request":  &saga.ToStation{Message: protocol.CallAlert{}},
		"ToStation enquiry":  &saga.ToStation{Message: protocol.StatusEnquiry{}},
		"ToStation response": &saga.ToStation{Answers: 4, Message: protocol.CallConnectAck{}},
		"EndCall":            &saga.EndCall{},
		"Setup":              &saga.Setup{Calling: self, Called: peer, Reference: 1},
	} {
		all = append(all, namedInput{"notification " + name, func(g *gateway, call []byte) outcome { return g.notify(call, n) }})
	}
	all = append(all, namedInput{"resync", func(g *gateway, _ []byte) outcome { return g.resync(g.body) }})
	all = append(all, namedInput{"resync, a call lost", func(g *gateway, _ []byte) outcome { return g.resync(g.withCall(2)) }})
	return append(all, namedInput{"notification Offer", func(g *gateway, _ []byte) outcome {
		return g.notify(callKey(0x40, 1), &saga.Offer{Calling: 0x40, Service: protocol.ServiceVoice})
	}})
}

// resync tells the record that the store had a newer one.
func (g *gateway) resync(newer []byte) outcome {
	g.t.Helper()
	return g.input(processor.Input{Kind: processor.Resynced, Payload: newer})
}

// withCall is what the record would be after one more call of the station; where the station is not on, what it is.
func (g *gateway) withCall(reference protocol.CallReference) []byte {
	g.t.Helper()
	if len(g.body) == 0 || !g.station().State.On() {
		return g.body
	}
	later := *g
	later.timers = maps.Clone(g.timers)
	later.place(reference, 0x40)
	return later.body
}

// testMessage is a message as a request or a response.
type testMessage struct {
	name   string
	header protocol.Header
	make   func(g *gateway, epoch uint64) protocol.Message
}

func (m testMessage) send(g *gateway, epoch uint64) outcome {
	g.t.Helper()
	made := m.make(g, epoch)
	g.next = max(g.next, 100) + 1
	h := m.header
	h.Sequence = g.next
	return g.from(epoch, h, made)
}

// messages is every message that the protocol has, as a request and as a response where it may be one: about call 1 where it can be, else about
// none. CALL-SETUP is for call 2.
func messages(t *testing.T) []testMessage {
	t.Helper()
	samples := samples()
	var all []testMessage
	for n := range 256 {
		typ := protocol.Type(n)
		if strings.HasPrefix(typ.String(), "message 0x") {
			continue
		}
		sample, ok := samples[typ]
		if !ok {
			t.Errorf("%v has no sample", typ)
			continue
		}
		found := false
		for _, flags := range []protocol.Flags{0, protocol.Response} {
			h := protocol.Header{Flags: flags, Station: self, Sequence: 1, Call: 1}
			if typ == protocol.TypeCallSetup {
				h.Call = 2
			}
			if typ == protocol.TypeCallAnnounce {
				h.Call = protocol.CallGateway | 1
			}
			if !encodes(h, sample) {
				h.Call = 0
			}
			if !encodes(h, sample) {
				continue
			}
			found = true
			name := typ.String()
			if flags == protocol.Response {
				name += " response"
			}
			fresh := func(*gateway, uint64) protocol.Message { return sample }
			if typ == protocol.TypeLogonAuth {
				fresh = func(g *gateway, epoch uint64) protocol.Message { return g.freshAuth(epoch) }
			}
			all = append(all, testMessage{name, h, fresh})
		}
		if !found {
			t.Errorf("%v can not be sent", typ)
		}
	}
	return all
}

// freshAuth is one with a true proof and, where there is a challenge, of it.
func (g *gateway) freshAuth(epoch uint64) protocol.LogonAuth {
	o := g.ask(epoch, 0, protocol.LogonRequest{Class: 2, BootNonce: boot, Beam: beam})
	challenge, _ := o.message().(protocol.LogonChallenge)
	return g.prove(challenge.Nonce, boot)
}

func encodes(h protocol.Header, m protocol.Message) bool {
	_, err := protocol.Append(nil, h, m)
	return err == nil
}

func samples() map[protocol.Type]protocol.Message {
	all := map[protocol.Type]protocol.Message{}
	for _, m := range []protocol.Message{
		protocol.LogonRequest{Class: 2, BootNonce: boot, Beam: beam},
		protocol.LogonChallenge{},
		protocol.LogonAuth{BootNonce: boot, Beam: beam},
		protocol.LogonConfirm{Heartbeat: time.Second, Inactivity: time.Second},
		protocol.LogonAck{},
		protocol.LogonReject{Cause: 1},
		protocol.LogonPrompt{},
		protocol.LogonInterrogate{},
		protocol.LogoffRequest{Cause: protocol.CauseNormalUnspecified},
		protocol.LogoffAck{},
		protocol.Heartbeat{},
		protocol.HeartbeatAck{},
		protocol.CapacityRequest{Amount: 1, Kind: 1},
		protocol.CapacityGrant{Amount: 1, Kind: 1},
		protocol.CallSetup{Called: peer, Service: 1},
		protocol.CallProceeding{},
		protocol.CallAnnounce{Calling: peer, Service: 1},
		protocol.CallQueued{},
		protocol.CallAlert{},
		protocol.CallConnect{},
		protocol.CallConnectAck{},
		protocol.ChannelAssign{Channel: protocol.Channel{Beam: 1, Number: 1}},
		protocol.ChannelStatus{Locked: true},
		protocol.Disconnect{Cause: protocol.CauseNormalClearing},
		protocol.Release{Cause: protocol.CauseNormalClearing},
		protocol.ReleaseComplete{},
		protocol.Preempt{Cause: 1, Priority: 1},
		protocol.Handover{Beam: 8, Channel: protocol.Channel{Beam: 8, Number: 1}},
		protocol.Overload{Level: 1, Validity: time.Second},
		protocol.Reset{Cause: protocol.CauseTemporaryFailure},
		protocol.ResetAck{},
		protocol.StatusEnquiry{},
		protocol.Status{},
		protocol.Error{Cause: protocol.CauseProtocolError},
	} {
		all[m.Type()] = m
	}
	return all
}

// Whoever is not the station's leg changes nothing, whatever it says and whatever state the station is in (R3).
func TestNothingFromElsewhereChangesAStation(t *testing.T) {
	for _, m := range messages(t) {
		if m.name == "LOGON-AUTH" { // proven: it is the station
			continue
		}
		for _, state := range states() {
			for _, epoch := range []uint64{older, foreign} {
				g, _ := inState(t, state)
				o := m.send(g, epoch)
				name := fmt.Sprintf("%s from %d / %s", m.name, epoch, state)
				if o.err != nil || !o.discarded {
					t.Errorf("%s: %v", name, o)
				}
				on := state != "unknown" && state != "off" && state != "barred"
				if want := on && epoch == older && m.name != "LOGON-REQUEST"; o.abort != want {
					t.Errorf("%s: abort %v, want %v", name, o.abort, want)
				}
			}
		}
	}
}
