package client_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skyring/protocol"
	"skyring/protocol/client"
)

const (
	station protocol.StationID = 0x17
	peer    protocol.StationID = 0x18
	boot    uint64             = 0xB007
)

func testConfig() client.Config {
	cfg := client.DefaultConfig()
	cfg.Station, cfg.Beam, cfg.Class, cfg.MaxCalls = station, 3, 2, 2
	cfg.Key = [32]byte{1, 2, 3}
	cfg.Targets = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")}

	return cfg
}

// driver drives a machine and keeps what it wanted done.
type driver struct {
	*client.Machine

	t        testing.TB
	log      *journal
	sequence uint32 // of the gateway's last request
}

func newDriver(tb testing.TB) *driver {
	tb.Helper()

	return &driver{Machine: client.NewMachine(testConfig(), boot), t: tb, log: &journal{}}
}

// journal is a Listener that writes down what it hears.
type journal struct{ lines []string }

func (j *journal) add(format string, args ...any) {
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) LoggedOn(on client.LogOn)        { j.add("LoggedOn(%s, again %t)", on.Target, on.Again) }
func (j *journal) LoggedOff(why error)             { j.add("LoggedOff(%v)", why) }
func (j *journal) Announced(c *client.Call)        { j.add("Announced(%s)", c.Peer()) }
func (j *journal) Proceeding(*client.Call)         { j.add("Proceeding") }
func (j *journal) Alerting(*client.Call)           { j.add("Alerting") }
func (j *journal) Connected(*client.Call)          { j.add("Connected") }
func (j *journal) Cleared(_ *client.Call, e error) { j.add("Cleared(%v)", e) }
func (j *journal) Assigned(_ *client.Call, c protocol.Channel) {
	j.add("Assigned(%s)", c)
}

// did returns what the machine wanted done since the last call, in words.
func (d *driver) did() []string {
	var words []string

	for _, e := range d.Take() {
		switch e.Kind {
		case "send":
			words = append(words, "send "+describe(e.Header, e.Message))
		case "tell":
			d.log.lines = nil
			e.Tell(d.log)
			words = append(words, d.log.lines...)
		case "dial":
			words = append(words, "dial "+e.Target)
		default:
			words = append(words, e.Kind)
		}
	}

	return words
}

// describe is a message in words: type, R for a response, and what it says.
func describe(h protocol.Header, m protocol.Message) string {
	text := h.Type.String()
	if h.Response() {
		text += " R"
	}

	switch m := m.(type) {
	case protocol.Status:
		text += fmt.Sprintf("(%s", m.State)
		if m.Cause != 0 {
			text += fmt.Sprintf(", %d", uint8(m.Cause))
		}

		text += ")"
	case protocol.ChannelStatus:
		text += fmt.Sprintf("(locked %t)", m.Locked)
	case protocol.Disconnect:
		text += fmt.Sprintf("(%d)", uint8(m.Cause))
	case protocol.Release:
		text += fmt.Sprintf("(%d)", uint8(m.Cause))
	case protocol.ReleaseComplete:
		text += fmt.Sprintf("(%d)", uint8(m.Cause))
	case protocol.LogoffRequest:
		text += fmt.Sprintf("(%d)", uint8(m.Cause))
	case protocol.Error:
		text += fmt.Sprintf("(%d)", uint8(m.Cause))
	}

	return text
}

// from hands the machine a message of the gateway.
func (d *driver) from(h protocol.Header, m protocol.Message) {
	d.t.Helper()

	h.Station = station

	payload, err := protocol.Append(nil, h, m)
	if err != nil {
		d.t.Fatal(err)
	}

	d.Receive(payload)
}

// request hands the machine a request of the gateway under the next sequence.
func (d *driver) request(call protocol.CallReference, m protocol.Message) {
	d.t.Helper()

	d.sequence++
	d.from(protocol.Header{Call: call, Sequence: d.sequence}, m)
}

// last is the header of the last message of a type that the machine sent, which is searched
// in what it did since the last look.
func (d *driver) last(of protocol.Type) protocol.Header {
	d.t.Helper()

	var found protocol.Header

	for _, e := range d.Take() {
		if e.Kind == "send" && e.Header.Type == of {
			found = e.Header
		}

		if e.Kind == "tell" {
			e.Tell(d.log)
		}
	}

	if found.Type == 0 {
		d.t.Fatalf("no %s was sent", of)
	}

	return found
}

// respond hands the machine the response to its last request of a type.
func (d *driver) respond(to protocol.Type, m protocol.Message) {
	d.t.Helper()
	d.from(d.last(to).Answer(), m)
}

// pass lets time pass up to the machine's next deadline.
func (d *driver) pass() {
	d.t.Helper()

	deadline := d.Deadline()
	if deadline.IsZero() {
		d.t.Fatal("nothing is due, ever")
	}

	if deadline.After(d.Now) {
		d.Now = deadline
	}

	d.Expire()
}

// passFor lets a time pass, with all that is due in it.
func (d *driver) passFor(span time.Duration) {
	d.t.Helper()

	end := d.Now.Add(span)
	for deadline := d.Deadline(); !deadline.IsZero() && !deadline.After(end); deadline = d.Deadline() {
		d.pass()
	}

	d.Now = end
}

// logOn brings a machine to where it is logged on.
func (d *driver) logOn() {
	d.t.Helper()
	d.Start()
	d.Connected()
	d.proceedLogOn()
}

func (d *driver) proceedLogOn() {
	d.t.Helper()
	d.respond(protocol.TypeLogonRequest, protocol.LogonChallenge{Nonce: [protocol.NonceSize]byte{7}})
	d.respond(protocol.TypeLogonAuth, protocol.LogonConfirm{Heartbeat: 30 * time.Second, Inactivity: 100 * time.Second, Time: 5})

	if d.State() != client.LoggedOn {
		d.t.Fatalf("state %s after the confirmation", d.State())
	}
}

// wants compares what the machine did with what it had to.
func (d *driver) wants(want ...string) {
	d.t.Helper()

	got := d.did()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		d.t.Fatalf("did\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

var errGone = errors.New("association gone")
