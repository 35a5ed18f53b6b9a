package call_test

import (
	"slices"

	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/processor/call"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// The model: calls between stations whose records are played here, and pools with fewer channels than calls want. Notifications between two records arrive
// once and in order (the engine sees to that), but across records in any order. Stations are slow, deaf, wrong, send twice, hang up or go off, and timers
// fire at any time. Whatever happens, when all has settled each call is active with a channel on either side or has ended with one CDR, and the
// pools hold what active calls hold.

// link is the way from one record to another.
type link struct{ from, to string }

// world is all records and what is under way between them.
type world struct {
	t        *rapid.T
	calls    handler
	pools    handler
	now      int64
	bodies   map[string][]byte // of calls and pools, by key
	links    map[link][]processor.Notification
	order    []link // of links, for repeatable draws
	timers   map[string]map[uint8]int64
	stations map[string]*party // by key of the call and side
	cdrs     map[string][]call.CDR
	calm     bool // no more accidents: all settles
}

// handler is what world needs of the handlers.
type handler interface {
	ApplyInput(s processor.Session, in processor.Input) (processor.Result, error)
}

// party is one side's station in one call, and the part of its record that is about it.
type party struct {
	call     []byte
	station  []byte
	side     saga.Side
	known    bool // the record knows the call
	gone     bool // the record has forgotten it by itself
	ended    bool // the record was told that the call is over
	sequence uint32
	channel  protocol.Channel
	answers  bool // called: the user will answer
}

func newWorld(t *rapid.T, calls, channels int) *world {
	w := &world{
		t: t, calls: call.New(call.DefaultConfig()), pools: call.Pools{}, now: 1, bodies: map[string][]byte{}, links: map[link][]processor.Notification{},
		timers: map[string]map[uint8]int64{}, stations: map[string]*party{}, cdrs: map[string][]call.CDR{},
	}
	for _, beam := range []protocol.Beam{beamA, beamB} {
		b, err := call.NewPool(beam, 1, uint16(channels))
		if err != nil {
			t.Fatal(err)
		}
		w.bodies[string(key.Pool(nil, uint16(beam)))] = b
	}
	for n := range calls {
		w.begin(uint64(2*n+1), uint64(2*n+2))
	}
	return w
}

// begin sets a call up.
func (w *world) begin(a, b uint64) {
	k := key.Call(nil, key.CallID{Station: a, Boot: 1, Reference: 1, Sequence: 1})
	calling := &party{call: k, station: key.Station(nil, a), side: saga.Calling, known: true}
	called := &party{call: k, station: key.Station(nil, b), side: saga.Called, answers: rapid.Bool().Draw(w.t, "answers")}
	w.stations[string(k)+"1"], w.stations[string(k)+"2"] = calling, called
	w.bodies[string(k)] = nil
	w.send(calling, &saga.Setup{
		Calling: protocol.StationID(a), Called: protocol.StationID(b), Reference: 1, Service: 1, Beam: w.beam(),
	})
}

func (w *world) beam() protocol.Beam {
	return rapid.SampledFrom([]protocol.Beam{beamA, beamB}).Draw(w.t, "beam")
}

// chance is true once in so many, and never when all shall settle.
func (w *world) chance(of int, what string) bool {
	return !w.calm && rapid.IntRange(1, of).Draw(w.t, what) == 1
}

// send puts a notification of a station's record on its way.
func (w *world) send(p *party, n saga.Notification) {
	payload, err := saga.Append(nil, n)
	if err != nil {
		w.t.Fatal(err)
	}
	w.queue(p.station, processor.Notification{Key: p.call, Payload: payload})
}

func (w *world) queue(from []byte, n processor.Notification) {
	l := link{string(from), string(n.Key)}
	if _, known := w.links[l]; !known {
		w.order = append(w.order, l)
	}
	w.links[l] = append(w.links[l], n)
}

// says makes a station say something in the call; twice now and then, as another message.
func (w *world) says(p *party, m protocol.Message, answers uint32) {
	times := 1
	if w.chance(8, "twice") {
		times = 2
	}
	for range times {
		if !p.known {
			return
		}
		f := &saga.Forward{Side: p.side, Response: answers != 0, Sequence: answers, Message: m}
		if answers == 0 {
			p.sequence++
			f.Sequence = p.sequence
		}
		w.send(p, f)
	}
}

// deliver hands one notification over.
func (w *world) deliver(l link) {
	n := w.links[l][0]
	w.links[l] = w.links[l][1:]
	switch to := []byte(l.to); key.KindOf(to) { //nolint:exhaustive // no others
	case key.KindStation:
		w.toStation([]byte(l.from), to, n)
	case key.KindPool:
		w.apply(w.pools, l.to, processor.Input{Kind: processor.FromSession, From: []byte(l.from), Payload: n.Payload})
	default:
		w.apply(w.calls, l.to, processor.Input{Kind: processor.FromSession, From: []byte(l.from), Payload: n.Payload})
	}
}

// apply gives a call or a pool an input and takes its effects.
func (w *world) apply(h handler, k string, in processor.Input) {
	w.now++
	in.Now, in.Node = w.now, "node-1"
	r, err := h.ApplyInput(processor.Session{Key: []byte(k), Body: w.bodies[k]}, in)
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Discard {
		return
	}
	w.bodies[k] = r.Body
	if w.timers[k] == nil {
		w.timers[k] = map[uint8]int64{}
	}
	for _, name := range r.Cancel {
		delete(w.timers[k], name)
	}
	for _, a := range r.Arm {
		w.timers[k][a.Name] = a.Due
	}
	for _, n := range r.Notify {
		w.queue([]byte(k), n)
	}
	for _, b := range r.CDRs {
		cdr, err := call.DecodeCDR(b)
		if err != nil {
			w.t.Fatal(err)
		}
		w.cdrs[k] = append(w.cdrs[k], cdr)
	}
}

// pending are the links on which something waits.
func (w *world) pending() []link {
	return slices.DeleteFunc(slices.Clone(w.order), func(l link) bool { return len(w.links[l]) == 0 })
}

// armed are the timers that run, of one call each, in an order that repeats.
func (w *world) armed() []timer {
	var all []timer
	for k, timers := range w.timers {
		for name, due := range timers {
			all = append(all, timer{k, name, due})
		}
	}
	slices.SortFunc(all, func(a, b timer) int {
		switch {
		case a.due != b.due:
			return int(a.due - b.due)
		case a.key != b.key && a.key < b.key, a.key == b.key && a.name < b.name:
			return -1
		default:
			return 1
		}
	})
	return all
}

type timer struct {
	key  string
	name uint8
	due  int64
}

func (w *world) fire(tm timer) {
	delete(w.timers[tm.key], tm.name)
	w.now = max(w.now, tm.due)
	w.apply(w.calls, tm.key, processor.Input{Kind: processor.TimerFired, Timer: tm.name})
}

// step does one thing that can happen.
func (w *world) step() {
	pending, armed := w.pending(), w.armed()
	switch what := rapid.IntRange(0, 24).Draw(w.t, "step"); {
	case what == 24 && len(armed) > 0:
		w.fire(rapid.SampledFrom(armed).Draw(w.t, "timer"))
	case what == 23:
		w.accident(rapid.SampledFrom(w.parties()).Draw(w.t, "party"))
	case len(pending) > 0:
		w.deliver(rapid.SampledFrom(pending).Draw(w.t, "link"))
	}
	w.check()
}

func (w *world) parties() []*party {
	var keys []string
	for k := range w.stations {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var all []*party
	for _, k := range keys {
		all = append(all, w.stations[k])
	}
	return all
}

// settle lets everything come to an end: what is on its way arrives, and then timers fire, one after another.
func (w *world) settle() {
	w.calm = true
	for range 10_000 {
		pending, armed := w.pending(), w.armed()
		switch {
		case len(pending) > 0:
			w.deliver(pending[0])
		case len(armed) > 0:
			w.fire(armed[0])
		default:
			return
		}
		w.check()
	}
	w.t.Fatal("it never ends")
}
