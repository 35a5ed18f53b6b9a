package routing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

// The model: processors that share a store with marks and reply rings (rule R1), a
// bus that loses, repeats and reorders, nodes that die, come back, stop and wake.
// Whatever happens, each message takes effect once and is told as done once, and the
// messages of a key and association take effect and are told as done in order. Those
// of one key, and some of another, may be refused and are given up after a while: they
// may have no effect, go one at a time, and never meet a gap. All associations share the
// keys.

const replyRing = 8

const (
	mortal = "b" // the key whose messages may be refused, and are given up when they are not answered in time
	mixed  = "c" // the key of which every other message of an association is such a one
)

const maxAssociations = 12

type message struct{ epoch, sequence uint64 }

// source is what a record keeps of one association.
type source struct {
	mark uint64
	ring []uint64 // the last committed
}

type processor struct {
	id          string
	incarnation uint64
	beats       uint64
	alive       bool
	state       bus.NodeState
	inbox       [][]bus.Envelope
}

type answer struct {
	incarnation uint64
	bus.Answer
}

type world struct {
	t         *rapid.T
	cfg       routing.Config
	policy    string // that picks
	loaded    bool   // nodes report CPU, memory and limits of their own at random
	own       bool   // some did
	keys      []string
	epochs    uint64
	core      *routing.Core
	now       time.Duration
	connected bool
	nodes     []*processor
	answers   []answer
	last      uint64 // incarnation given out

	sequences map[uint64]uint64
	ordered   map[string][]message // as submitted, by key and epoch
	committed map[string][]message // as committed
	sources   map[string]*source
	keyOf     map[message]string   // key and epoch
	done      map[string][]message // as told to the stations
	mortal    map[message]bool     // may be refused and given up
	noEffect  map[message]bool     // may have none: given up or refused
}

func newWorld(t *rapid.T, picks string) *world {
	cfg := testConfig()
	cfg.InFlightLimit = rapid.SampledFrom([]int{3, 6, 60}).Draw(t, "limit")
	cfg.MaxBytesPerNode = rapid.SampledFrom([]int{2000, 100_000}).Draw(t, "bytes")
	cfg.HardCap = rapid.SampledFrom([]int{cfg.InFlightLimit * 2, cfg.InFlightLimit * 2, 0}).Draw(t, "hardCap")
	cfg.Hysteresis = rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second}).Draw(t, "hysteresis")
	cfg.NodeMemory = rapid.SampledFrom([]time.Duration{cfg.Heartbeat, 10 * time.Minute}).Draw(t, "memory")
	cfg.MaxNodes = rapid.SampledFrom([]int{4, 16}).Draw(t, "maxNodes")

	w := &world{
		t:         t,
		cfg:       cfg,
		policy:    picks,
		keys:      []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "keys")],
		epochs:    rapid.Uint64Range(1, maxAssociations).Draw(t, "associations"),
		core:      routing.New(cfg, 1),
		connected: true,
		sequences: map[uint64]uint64{},
		ordered:   map[string][]message{},
		committed: map[string][]message{},
		sources:   map[string]*source{},
		keyOf:     map[message]string{},
		done:      map[string][]message{},
		mortal:    map[message]bool{},
		noEffect:  map[message]bool{},
	}

	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		w.nodes = append(w.nodes, &processor{id: fmt.Sprintf("n%d", i)})
		w.start(w.nodes[i])
	}

	w.rebuild()

	return w
}

func (w *world) node() *processor { return rapid.SampledFrom(w.nodes).Draw(w.t, "node") }

func (w *world) submit(t *rapid.T) {
	for range rapid.IntRange(1, 20).Draw(t, "messages") {
		epoch := rapid.Uint64Range(1, w.epochs).Draw(t, "epoch")
		key := rapid.SampledFrom(w.keys).Draw(t, "key")
		w.sequences[epoch]++
		m := message{epoch, w.sequences[epoch]}
		of := fmt.Sprintf("%s/%d", key, epoch)
		w.keyOf[m] = of
		w.ordered[of] = append(w.ordered[of], m)

		var giveUp time.Duration
		if key == mortal || key == mixed && len(w.ordered[of])%2 == 0 {
			giveUp = w.now + w.cfg.Expiry
			w.mortal[m] = true
		}

		w.core.Submit(w.now, &routing.Message{
			Epoch: m.epoch, Sequence: m.sequence, Key: []byte(key), Hash: xxh3.HashString(key),
			Payload: make([]byte, rapid.IntRange(0, 300).Draw(t, "size")), GiveUp: giveUp,
		})
	}
}

// carry takes a frame from a node's outbox to its inbox.
func (w *world) carry(p *processor, lose bool) {
	for _, n := range w.core.Nodes(0) {
		if n.ID() != p.id {
			continue
		}

		var (
			writer bus.EnvelopeWriter
			items  []bus.Envelope
			e      bus.Envelope
		)

		writer.Reset(nil, 1)

		if w.core.Fill(w.now, n, &writer, routing.Frame{Messages: 4, Bytes: 600}) == 0 {
			return
		}

		r, err := bus.DecodeEnvelopes(writer.Bytes())
		if err != nil {
			w.t.Fatal(err)
		}

		for r.Next(&e) {
			items = append(items, e)

			if w.mortal[message{e.Epoch, e.Sequence}] && e.After != 0 {
				w.t.Fatalf("%s %d/%d may be given up and goes after %d", e.Key, e.Epoch, e.Sequence, e.After)
			}
		}

		switch {
		case lose:
		case !p.alive:
			w.core.NoResponders(w.now, p.id)
		default:
			p.inbox = append(p.inbox, items)
		}
	}
}

// apply is a processor with a shared store.
func (w *world) apply(e *bus.Envelope) bus.Answer {
	a := bus.Answer{Entry: e.Entry, Attempt: e.Attempt}
	of := fmt.Sprintf("%s/%d", e.Key, e.Epoch)

	s := w.sources[of]
	if s == nil {
		s = &source{}
		w.sources[of] = s
	}

	switch {
	case e.Sequence <= s.mark && slices.Contains(s.ring, e.Sequence):
		a.Status = bus.Replayed
	case e.Sequence <= s.mark:
		a.Status = bus.Stale
	case e.After > s.mark:
		a.Status = bus.Gap
	case time.Duration(e.Expiry)*time.Microsecond < w.now:
		a.Status = bus.Expired
	default:
		a.Status = bus.Committed
		s.mark = e.Sequence

		if s.ring = append(s.ring, e.Sequence); len(s.ring) > replyRing {
			s.ring = s.ring[1:]
		}

		w.committed[of] = append(w.committed[of], message{e.Epoch, e.Sequence})
	}

	return a
}

const willing bus.Status = 0

// process makes a node handle the frame of its inbox at an index, or refuse it.
func (w *world) process(p *processor, at int, refuse bus.Status) {
	frame := p.inbox[at]
	p.inbox = slices.Delete(p.inbox, at, at+1)

	for i := range frame {
		a := bus.Answer{Entry: frame[i].Entry, Attempt: frame[i].Attempt, Status: refuse}
		if refuse == willing || refuse == bus.Refused && !w.mortal[message{frame[i].Epoch, frame[i].Sequence}] {
			a = w.apply(&frame[i])
		}

		w.answers = append(w.answers, answer{p.incarnation, a})
	}
}

func (w *world) deliver(at int) {
	a := w.answers[at]
	w.answers = slices.Delete(w.answers, at, at+1)

	w.core.Heard(w.now, a.incarnation)
	w.core.Answer(w.now, a.incarnation, &a.Answer)
	w.told()
}

// told notes what the core says is done. The dispatcher sends a station its replies
// in that order.
func (w *world) told() {
	for _, f := range w.core.Done() {
		if f.GivenUp || f.Status == bus.Refused {
			w.noEffect[message{f.Epoch, f.Sequence}] = true
		}

		if f.Status == bus.Stale {
			w.t.Fatalf("the reply of %d/%d was pushed out of the ring", f.Epoch, f.Sequence)
		}

		m := message{f.Epoch, f.Sequence}
		of := w.keyOf[m]
		w.done[of] = append(w.done[of], m)

		if n := len(w.done[of]); n > len(w.ordered[of]) || w.ordered[of][n-1] != m {
			w.t.Fatalf("%s was submitted as %v and told as done as %v", of, w.ordered[of], w.done[of])
		}
	}
}

func (w *world) start(p *processor) {
	w.last++
	p.alive, p.state, p.incarnation, p.beats, p.inbox = true, bus.Ready, w.last, 0, nil
	w.beat(p)
}

func (w *world) beat(p *processor) {
	p.beats++

	h := bus.Heartbeat{ID: p.id, Incarnation: p.incarnation, Sequence: p.beats, State: p.state, Capacity: 100}
	if w.loaded {
		w.own = true
		part := rapid.SampledFrom([]float64{0, 0.5, 0.7, 0.75, 0.9, 1})
		h.CPU, h.Memory = part.Draw(w.t, "cpu"), part.Draw(w.t, "memory")
		h.MessagesPerSecond = rapid.Uint32Range(0, 300).Draw(w.t, "rate")
		h.InFlightLimit = rapid.SampledFrom([]uint32{0, 0, 1, 8, 1 << 31}).Draw(w.t, "own limit")
	}

	w.core.Heartbeat(w.now, h)
}

func (w *world) pass(d time.Duration) {
	for ; d > 0; d -= 50 * time.Millisecond {
		w.now += 50 * time.Millisecond
		w.core.Tick(w.now)
		w.told()
	}
}

func (w *world) rebuild() {
	members, wanted := w.core.PolicyWanted()
	if !wanted {
		return
	}

	r, err := policy.New(w.policy, members, policy.Options{Ring: ring.Config{Bits: 8}})
	if err != nil {
		w.t.Fatal(err)
	}

	w.core.SetPolicy(w.now, r)
}

func (w *world) actions() map[string]func(*rapid.T) {
	percent := func(t *rapid.T, n int) bool { return rapid.IntRange(0, 99).Draw(t, "percent") < n }

	refusal := func(t *rapid.T) bus.Status {
		switch n := rapid.IntRange(0, 99).Draw(t, "refusal"); {
		case n < 10:
			return bus.Unavailable
		case n < 20:
			return bus.Refused
		default:
			return willing
		}
	}

	carry := func(t *rapid.T) {
		for range 3 {
			w.carry(w.node(), percent(t, 10))
		}
	}
	process := func(t *rapid.T) {
		for range 3 {
			p := w.node()
			if len(p.inbox) > 0 && p.alive {
				w.process(p, rapid.IntRange(0, len(p.inbox)-1).Draw(t, "frame"), refusal(t))
			}
		}
	}

	return map[string]func(*rapid.T){
		"submit":       w.submit,
		"carry":        carry,
		"carry on":     carry,
		"process":      process,
		"process on":   process,
		"lose answers": func(t *rapid.T) { w.answers = w.answers[:rapid.IntRange(0, len(w.answers)).Draw(t, "left")] },
		"answer": func(t *rapid.T) {
			for range min(len(w.answers), rapid.IntRange(1, 8).Draw(t, "answers")) {
				at := rapid.IntRange(0, len(w.answers)-1).Draw(t, "answer")

				switch n := rapid.IntRange(0, 99).Draw(t, "percent"); {
				case n < 10:
					w.answers = slices.Delete(w.answers, at, at+1)
				case n < 20:
					w.answers = append(w.answers, w.answers[at])

					w.deliver(at)
				default:
					w.deliver(at)
				}
			}
		},
		"load":  func(t *rapid.T) { w.loaded = rapid.Bool().Draw(t, "loaded") },
		"start": func(*rapid.T) { w.start(w.node()) },
		"kill":  func(*rapid.T) { w.node().alive = false },
		"drain": func(*rapid.T) {
			if p := w.node(); p.alive {
				p.state = bus.Draining
				w.beat(p)
			}
		},
		"beat": func(*rapid.T) {
			for _, p := range w.nodes {
				if p.alive {
					w.beat(p)
				}
			}
		},
		"time":    func(t *rapid.T) { w.pass(time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond) },
		"rebuild": func(*rapid.T) { w.rebuild() },
		"nats": func(*rapid.T) {
			if w.connected = !w.connected; w.connected {
				w.core.Reconnected(w.now)

				return
			}

			w.core.Disconnected(w.now)

			w.answers = nil
			for _, p := range w.nodes {
				p.inbox = nil
			}
		},
		"": func(t *rapid.T) {
			if err := w.core.CheckBindings(); err != nil {
				t.Fatal(err)
			}

			for _, n := range w.core.Stats().Nodes {
				if n.InFlight < 0 || n.Bytes < 0 || w.cfg.HardCap != 0 && !w.own && n.InFlight > w.cfg.HardCap {
					t.Fatalf("%+v", n)
				}

				if (n.Status == routing.Open) != (n.Reason == "") {
					t.Fatalf("%s is %s and the reason is %q", n.ID, n.Status, n.Reason)
				}
			}
		},
	}
}

// heal makes everything work again until all is answered.
func (w *world) heal() {
	w.loaded = false

	if !w.connected {
		w.connected = true
		w.core.Reconnected(w.now)
	}

	for _, p := range w.nodes {
		if !p.alive || p.state != bus.Ready {
			w.start(p)
		}
	}

	for range 1000 {
		if w.core.Unanswered() == 0 {
			return
		}

		w.rebuild()
		w.pass(100 * time.Millisecond)

		for _, p := range w.nodes {
			w.beat(p)
			w.carry(p, false)

			for len(p.inbox) > 0 {
				w.process(p, 0, willing)
			}
		}

		for len(w.answers) > 0 {
			w.deliver(0)
		}
	}

	w.t.Fatalf("%d messages are never answered: %+v", w.core.Unanswered(), w.core.Stats())
}

func (w *world) check() {
	for of, want := range w.ordered {
		effects := slices.DeleteFunc(slices.Clone(want), func(m message) bool {
			return w.noEffect[m] && !slices.Contains(w.committed[of], m)
		})
		if !slices.Equal(effects, w.committed[of]) {
			w.t.Fatalf("%s was submitted as %v and committed as %v", of, want, w.committed[of])
		}

		if !slices.Equal(want, w.done[of]) {
			w.t.Fatalf("%s was submitted as %v and told as done as %v", of, want, w.done[of])
		}
	}

	s := w.core.Stats()
	if s.Sessions != 0 || s.Unanswered != 0 || s.Waiting != 0 {
		w.t.Fatalf("something is left: %+v", s)
	}

	for _, n := range s.Nodes {
		if n.InFlight != 0 || n.Bytes != 0 || n.Sessions != 0 {
			w.t.Fatalf("in flight at the end: %+v", n)
		}
	}
}

func TestEachMessageTakesEffectOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, policy.Default)
		t.Repeat(w.actions())
		w.heal()
		w.check()
	})
}

// Whatever picks, the same holds.
func TestEachMessageTakesEffectOnceAndInOrderWithEveryPolicy(t *testing.T) {
	var names []string
	for _, d := range policy.List() {
		names = append(names, d.Name)
	}

	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.SampledFrom(names).Draw(t, "policy"))
		t.Repeat(w.actions())
		w.heal()
		w.check()
	})
}
