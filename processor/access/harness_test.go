package access_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// Associations of the tests.
const (
	older   = 1000 // made before the leg
	home    = 2000 // where the station logs on first
	foreign = 3000 // of somebody else
)

const (
	boot = 0xB007
	beam = protocol.Beam(7)
	self = protocol.StationID(0x20)
	peer = protocol.StationID(0x30)
)

func config() access.Config {
	c := access.DefaultConfig()
	c.Secret = [access.SecretSize]byte{1, 2, 3}
	return c
}

func profile(id protocol.StationID) access.Profile {
	return access.Profile{
		Key: [access.KeySize]byte{byte(id), 0xFF}, Class: 2, Beams: []protocol.Beam{beam, 8}, MaxCalls: 2, MaxPriority: protocol.PriorityEmergency,
	}
}

// gateway is a station's record and the handler that works on it, as an engine without its own duplicates would drive it.
type gateway struct {
	t       testing.TB
	handler access.Handler
	id      protocol.StationID
	body    []byte
	now     int64
	timers  map[uint8]int64
	next    uint32 // sequence of the station's last request
}

func newGateway(tb testing.TB, id protocol.StationID) *gateway {
	tb.Helper()
	body, err := access.NewStation(profile(id))
	if err != nil {
		tb.Fatal(err)
	}
	return &gateway{t: tb, handler: access.New(config()), id: id, body: body, now: 1e15, timers: map[uint8]int64{}}
}

func (g *gateway) key() []byte { return key.Station(nil, uint64(g.id)) }

func (g *gateway) station() *access.Station {
	g.t.Helper()
	s, err := access.Decode(g.body)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// state is the state's name, "unknown" for a station that is not in the table.
func (g *gateway) state() string {
	if len(g.body) == 0 {
		return "unknown"
	}
	return g.station().State.String()
}

func (g *gateway) pass(d time.Duration) { g.now += d.Microseconds() }

// input applies an input and commits what comes of it.
func (g *gateway) input(in processor.Input) outcome {
	g.t.Helper()
	in.Now = g.now
	before := g.state()
	r, err := g.handler.ApplyInput(processor.Session{Key: g.key(), Body: g.body}, in)
	if err != nil {
		return outcome{err: err}
	}
	if r.Discard {
		if len(r.Notify)+len(r.ToLeg)+len(r.Arm) > 0 || r.SetLeg != nil || r.Body != nil {
			g.t.Fatalf("discarded with effects: %+v", r)
		}
	} else {
		g.body = r.Body
		for _, name := range r.Cancel {
			delete(g.timers, name)
		}
		for _, a := range r.Arm {
			g.timers[a.Name] = a.Due
		}
	}
	o := outcome{discarded: r.Discard, abort: r.AbortAssociation, setLeg: r.SetLeg, before: before, after: g.state()}
	if r.HasReply {
		o.reply = decode(g.t, r.Reply.Payload)
	}
	for _, b := range r.ToLeg {
		o.leg = append(o.leg, *decode(g.t, b))
	}
	for _, n := range r.Notify {
		what, err := saga.Decode(n.Payload)
		if err != nil {
			g.t.Fatal(err)
		}
		o.notify = append(o.notify, notified{n.Key, what})
	}
	return o
}

func (g *gateway) raw(epoch uint64, payload []byte) outcome {
	g.t.Helper()
	return g.input(processor.Input{
		Kind: processor.FromAssociation, Source: processor.Source{Dispatcher: "d1", Incarnation: 5, Epoch: epoch},
		Message: processor.Message{Epoch: epoch, Stream: 3, PPID: protocol.PPID, Payload: payload},
	})
}

func (g *gateway) from(epoch uint64, h protocol.Header, m protocol.Message) outcome {
	g.t.Helper()
	h.Station = g.id
	b, err := protocol.Append(nil, h, m)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.raw(epoch, b)
}

// ask is a new request of the station.
func (g *gateway) ask(epoch uint64, call protocol.CallReference, m protocol.Message) outcome {
	g.t.Helper()
	g.next++
	return g.from(epoch, protocol.Header{Call: call, Sequence: g.next}, m)
}

func (g *gateway) notify(from []byte, n saga.Notification) outcome {
	g.t.Helper()
	b, err := saga.Append(nil, n)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.input(processor.Input{Kind: processor.FromSession, From: from, Payload: b})
}

func (g *gateway) fire(timer uint8) outcome {
	g.t.Helper()
	delete(g.timers, timer)
	return g.input(processor.Input{Kind: processor.TimerFired, Timer: timer})
}

// due advances to the time of a timer, which must be armed, and fires it.
func (g *gateway) due(timer uint8) outcome {
	g.t.Helper()
	due, armed := g.timers[timer]
	if !armed {
		g.t.Fatalf("timer %d is not armed", timer)
	}
	g.now = max(g.now, due)
	return g.fire(timer)
}

// auth asks for a challenge on an association, and is the LOGON-AUTH that answers it.
func (g *gateway) auth(epoch, boot uint64) protocol.LogonAuth {
	g.t.Helper()
	o := g.ask(epoch, 0, protocol.LogonRequest{Class: 2, BootNonce: boot, Beam: beam})
	challenge, ok := o.message().(protocol.LogonChallenge)
	if !ok {
		g.t.Fatalf("log-on came to %v", o)
	}
	return g.prove(challenge.Nonce, boot)
}

func (g *gateway) prove(nonce [protocol.NonceSize]byte, boot uint64) protocol.LogonAuth {
	secret := profile(g.id).Key
	return protocol.LogonAuth{
		Nonce: nonce, BootNonce: boot, Beam: beam, Proof: protocol.LogonProof(secret[:], g.id, nonce, boot, beam),
	}
}

// logon is the whole log-on.
func (g *gateway) logon(epoch, boot uint64) {
	g.t.Helper()
	g.pass(time.Millisecond)
	if o := g.ask(epoch, 0, g.auth(epoch, boot)); o.after != "await-ack" {
		g.t.Fatalf("log-on came to %v", o)
	}
	g.ack(epoch)
}

func (g *gateway) ack(epoch uint64) outcome {
	g.t.Helper()
	return g.from(epoch, protocol.Header{Flags: protocol.Response, Sequence: g.next}, protocol.LogonAck{})
}

// place sets up a call, whose key it returns.
func (g *gateway) place(call protocol.CallReference, called protocol.StationID) []byte {
	g.t.Helper()
	o := g.ask(g.station().Epoch, call, protocol.CallSetup{Called: called, Service: protocol.ServiceVoice})
	if len(o.notify) != 1 {
		g.t.Fatalf("CALL-SETUP came to %v", o)
	}
	return o.notify[0].key
}

// callKey is that of some call from another station.
func callKey(from protocol.StationID, n uint32) []byte {
	return key.Call(nil, key.CallID{Station: uint64(from), Boot: 1, Reference: 1, Sequence: n})
}

// outcome is what an input came to.
type outcome struct {
	err           error
	discarded     bool
	abort         bool
	before, after string
	reply         *message
	leg           []message
	notify        []notified
	setLeg        *processor.Leg
}

type message struct {
	header  protocol.Header
	message protocol.Message
	payload []byte
}

type notified struct {
	key  []byte
	what saga.Notification
}

func decode(tb testing.TB, b []byte) *message {
	tb.Helper()
	h, m, err := protocol.Decode(b)
	if err != nil {
		tb.Fatalf("%x: %v", b, err)
	}
	return &message{h, m, b}
}

// message is the reply's, nil for none.
func (o outcome) message() protocol.Message { //nolint:ireturn // which message it is, is the question
	if o.reply == nil {
		return nil
	}
	return o.reply.message
}

// String is what happened, as testdata/states.txt has it.
func (o outcome) String() string {
	if o.err != nil {
		return "fault"
	}
	var s []string
	if o.reply != nil {
		s = append(s, describe(o.reply.message))
	}
	for _, m := range o.leg {
		s = append(s, "leg:"+describe(m.message))
	}
	for _, n := range o.notify {
		s = append(s, "call:"+told(n.what))
	}
	if o.after != o.before {
		s = append(s, "-> "+o.after)
	}
	if o.setLeg != nil && o.setLeg.Dispatcher == "" {
		s = append(s, "leg ends")
	}
	if o.setLeg != nil && o.setLeg.Dispatcher != "" {
		s = append(s, "leg set")
	}
	if o.abort {
		s = append(s, "abort")
	}
	switch {
	case o.discarded:
		s = append(s, "unwritten")
	case len(s) == 0:
		s = append(s, "nothing")
	}
	return strings.Join(s, ", ")
}

// describe names a message with its cause.
func describe(m protocol.Message) string {
	cause := protocol.Cause(0)
	text := m.Type().String()
	switch m := m.(type) {
	case protocol.LogonReject:
		cause = m.Cause
	case protocol.LogoffRequest:
		cause = m.Cause
	case protocol.ReleaseComplete:
		cause = m.Cause
	case protocol.Status:
		text += " " + m.State.String()
		cause = m.Cause
	case protocol.Error:
		cause = m.Cause
	}
	if cause != 0 {
		text += fmt.Sprintf(" (%v)", cause)
	}
	return text
}

func told(n saga.Notification) string {
	switch n := n.(type) {
	case *saga.Setup:
		return "Setup"
	case *saga.OfferResult:
		if n.Accepted {
			return "accepted"
		}
		return fmt.Sprintf("refused (%v)", n.Cause)
	case *saga.Forward:
		return "Forward " + n.Message.Type().String()
	case *saga.StationGone:
		return fmt.Sprintf("StationGone (%v)", n.Cause)
	case *saga.Unanswered:
		return "Unanswered " + n.Type.String()
	case *saga.Yield:
		return "Yield"
	default:
		return fmt.Sprintf("%T", n)
	}
}
