package routing_test

import (
	"slices"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
)

// sentTo is an envelope that a node has.
type sentTo struct {
	node        string
	incarnation uint64
	sequence    uint64
	bus.Answer  // that it is committed
}

// fill takes what waits for nodes to them, and returns it.
func (r *reporter) fill(t fataler) (all []sentTo) {
	t.Helper()

	for _, n := range r.core.Nodes(0) {
		var (
			w bus.EnvelopeWriter
			e bus.Envelope
		)

		w.Reset(nil, 1)

		if r.core.Fill(r.now, n, &w, routing.Frame{Messages: 256, Bytes: 1 << 18}) == 0 {
			continue
		}

		frame, err := bus.DecodeEnvelopes(w.Bytes())
		if err != nil {
			t.Fatalf("%v", err)
		}

		for frame.Next(&e) {
			all = append(all, sentTo{n.ID(), r.incarnation(n.ID()), e.Sequence, bus.Answer{Entry: e.Entry, Attempt: e.Attempt, Status: bus.Committed}})
		}
	}

	return all
}

// Invariant I5: whatever is under way, of few keys or many, no node at its limit gets a message while another one is open.
func TestSaturatedNodesGetNothingWhileOneIsOpen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := testConfig()
		cfg.Hysteresis = 0

		var (
			nodes    = rapid.IntRange(2, 4).Draw(rt, "nodes")
			keys     = rapid.Uint64Range(1, 40).Draw(rt, "keys")
			r        = newReporter(t, cfg, nodes)
			underWay []sentTo
		)

		// watched does something and fails if a node that was at its limit has more in flight then.
		watched := func(rt *rapid.T, act func()) {
			before := slices.Clone(r.core.Stats().Nodes)

			act()

			if !slices.ContainsFunc(before, func(n routing.NodeStats) bool { return n.Status == routing.Open }) {
				return
			}

			for i, n := range r.core.Stats().Nodes {
				if before[i].Status != routing.Open && n.InFlight > before[i].InFlight {
					rt.Fatalf("%s was at its limit (%s) and got a message: %+v", n.ID, before[i].Reason, before)
				}
			}
		}

		rt.Repeat(map[string]func(*rapid.T){
			"submit": func(rt *rapid.T) {
				k := []byte{byte(rapid.Uint64Range(1, keys).Draw(rt, "key"))}
				r.sent++
				watched(rt, func() { r.core.Submit(r.now, &routing.Message{Epoch: 1, Sequence: r.sent, Key: k, Hash: xxh3.Hash(k)}) })
				underWay = append(underWay, r.fill(rt)...)
			},
			"answer": func(rt *rapid.T) {
				if len(underWay) == 0 {
					rt.Skip("nothing is under way")
				}

				i := rapid.IntRange(0, len(underWay)-1).Draw(rt, "which")
				a := underWay[i]
				underWay = slices.Delete(underWay, i, i+1)

				watched(rt, func() { r.core.Answer(r.now, a.incarnation, &a.Answer) })
				r.core.Done()

				underWay = append(underWay, r.fill(rt)...)
			},
			"beat": func(rt *rapid.T) {
				cpu := rapid.SampledFrom([]float64{0, 0, 0.7, 1}).Draw(rt, "cpu")
				r.beat(rapid.IntRange(0, nodes-1).Draw(rt, "node"), bus.Heartbeat{CPU: cpu})
			},
			"time": func(*rapid.T) {
				r.pass(50 * time.Millisecond)

				for i := range nodes { // nobody is missed
					r.beat(i, bus.Heartbeat{CPU: r.core.Stats().Nodes[i].Reported.CPU})
				}

				underWay = append(underWay, r.fill(rt)...)
			},
		})
	})
}
