package client

import (
	"slices"
	"time"

	"skyring/protocol"
)

// Machine lets tests drive the machine without a Client.
type Machine struct {
	m *machine

	Now    time.Time
	Random float64
}

// NewMachine has a machine that is off, at a time that is not 0.
func NewMachine(cfg Config, boot uint64) *Machine {
	return &Machine{m: newMachine(cfg, boot), Now: time.Unix(1_000_000, 0), Random: 0.5}
}

func (t *Machine) at() moment { return moment{now: t.Now, random: t.Random} }

// Done is what a step wants done: "dial 127.0.0.1:1", "send", "close", "abort", "tell".
type Done struct {
	Kind    string
	Target  string
	Header  protocol.Header
	Message protocol.Message
	Payload []byte
	Tell    func(Listener)
}

// Take returns the effects since the last Take.
func (t *Machine) Take() []Done {
	var done []Done

	for _, e := range t.m.take() {
		d := Done{Kind: [...]string{"", "dial", "send", "close", "abort", "tell"}[e.kind], Payload: e.payload, Tell: e.tell}

		switch e.kind {
		case effectDial:
			d.Target = e.target.String()
		case effectSend:
			var err error
			if d.Header, d.Message, err = protocol.Decode(e.payload); err != nil {
				panic(err)
			}
		case effectClose, effectAbort, effectTell:
		}

		done = append(done, d)
	}

	return done
}

// State is the machine's.
func (t *Machine) State() State { return t.m.state }

// Stopped tells whether it has ended, and why by itself.
func (t *Machine) Stopped() (bool, error) { return t.m.stopped, t.m.fatal }

// Deadline is when Expire has something to do.
func (t *Machine) Deadline() time.Time { return t.m.deadline() }

// Pending are the types of the requests without an answer.
func (t *Machine) Pending() []protocol.Type {
	types := []protocol.Type{}
	for _, r := range t.m.pending {
		types = append(types, r.message.Type())
	}

	return types
}

// Calls are the states of the calls by reference.
func (t *Machine) Calls() map[protocol.CallReference]protocol.CallState {
	states := map[protocol.CallReference]protocol.CallState{}
	for reference, c := range t.m.calls {
		states[reference] = c.state
	}

	return states
}

// Call is a call of the machine, nil for none.
func (t *Machine) Call(reference protocol.CallReference) *Call { return t.m.calls[reference] }

// Steps of the machine.
func (t *Machine) Start()                 { t.m.start() }
func (t *Machine) Stop()                  { t.m.stop(t.at()) }
func (t *Machine) Connected()             { t.m.connected(t.at()) }
func (t *Machine) Disconnected(err error) { t.m.disconnected(t.at(), err) }
func (t *Machine) Expire()                { t.m.expired(t.at()) }

// Receive hands bytes to the machine.
func (t *Machine) Receive(payload []byte) {
	h, msg, err := protocol.Decode(payload)
	t.m.received(t.at(), h, msg, err)
}

// Place sets a call up.
func (t *Machine) Place(called protocol.StationID, o CallOptions) (*Call, error) {
	return t.m.place(t.at(), called, o)
}

// Acts on calls.
func (t *Machine) Lock(c *Call, cause protocol.Cause) error   { return t.m.lock(t.at(), c, cause) }
func (t *Machine) Alert(c *Call) error                        { return t.m.alert(t.at(), c) }
func (t *Machine) Answer(c *Call) error                       { return t.m.answer(t.at(), c) }
func (t *Machine) HangUp(c *Call, cause protocol.Cause) error { return t.m.hangUp(t.at(), c, cause) }

// LastSequence is that of the last request about a call, or about none, that has no answer;
// 9999: there is none.
func (t *Machine) LastSequence(call protocol.CallReference) uint32 {
	for _, r := range slices.Backward(t.m.pending) {
		if r.header.Call == call {
			return r.header.Sequence
		}
	}

	return 9999
}
