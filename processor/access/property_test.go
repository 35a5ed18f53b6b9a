package access_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/processor/access"
	"skyring/processor/saga"
	"skyring/protocol"
)

// wanderer is a station that sets calls up and releases them, sends again whatever it sent since its start, logs on elsewhere, and restarts; and the
// calls that come of it.
type wanderer struct {
	*gateway

	t     *rapid.T
	boot  uint64
	epoch uint64
	last  uint64 // epoch of the association made last
	sent  []sentRequest
	calls [][]byte          // that exist for the station's record
	told  map[string]int    // how often a call was told a request, by call, type and sequence
	first map[string]string // first answer to each request, by boot, call and sequence
}

type sentRequest struct {
	epoch   uint64
	header  protocol.Header
	message protocol.Message
}

func (w *wanderer) name(r sentRequest) string {
	return fmt.Sprintf("%d %v %d", w.boot, r.header.Call, r.header.Sequence)
}

func (w *wanderer) request(call protocol.CallReference, m protocol.Message) {
	w.next++
	r := sentRequest{w.epoch, protocol.Header{Call: call, Sequence: w.next}, m}
	w.sent = append(w.sent, r)
	w.send(r)
}

// send sends a request for the first time or again, and holds its effects to the rules.
func (w *wanderer) send(r sentRequest) {
	o := w.from(r.epoch, r.header, r.message)
	if o.err != nil {
		w.t.Fatalf("%T: %v", r.message, o.err)
	}
	if r.epoch != w.epoch && !o.discarded {
		w.t.Fatalf("%T on the association before: %v", r.message, o)
	}
	for _, n := range o.notify {
		id := fmt.Sprintf("%x %v %d", n.key, n.what.Kind(), r.header.Sequence)
		if w.told[id]++; w.told[id] > 1 {
			w.t.Fatalf("%T has its effect twice: %v", r.message, o)
		}
		switch n.what.(type) {
		case *saga.Setup:
			w.calls = append(w.calls, n.key)
		case *saga.StationGone:
			w.gone(n.key)
		}
	}
	if r.epoch != w.epoch {
		return
	}
	if o.reply == nil {
		if r.message.Type() == protocol.TypeCallSetup {
			w.t.Fatalf("CALL-SETUP is not answered: %v", o)
		}
		return
	}
	_, status := o.reply.message.(protocol.Status)
	before, repeated := w.first[w.name(r)]
	switch got := string(o.reply.payload); {
	case !repeated:
		w.first[w.name(r)] = got
	case got != before && !status:
		w.t.Fatalf("%T is answered anew: %v", r.message, o)
	}
}

func (w *wanderer) gone(key []byte) {
	for i, k := range w.calls {
		if string(k) == string(key) {
			w.calls = append(w.calls[:i], w.calls[i+1:]...)
			return
		}
	}
	w.t.Fatalf("a call that is not there was told %x", key)
}

func (w *wanderer) on(epoch uint64) {
	w.pass(time.Millisecond)
	o := w.ask(epoch, 0, w.auth(epoch, w.boot))
	if o.after != "await-ack" {
		w.t.Fatalf("log-on came to %v", o)
	}
	for _, n := range o.notify {
		w.gone(n.key)
	}
	w.epoch = epoch
	w.ack(epoch)
}

func (w *wanderer) pick(t *rapid.T) int {
	if len(w.sent) == 0 {
		t.Skip("nothing was sent")
	}
	return rapid.IntRange(0, len(w.sent)-1).Draw(t, "which")
}

func (w *wanderer) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"set up": func(t *rapid.T) {
			w.request(protocol.CallReference(rapid.IntRange(1, 6).Draw(t, "reference")), protocol.CallSetup{Called: peer, Service: 1})
		},
		"disconnect": func(t *rapid.T) {
			w.request(protocol.CallReference(rapid.IntRange(1, 6).Draw(t, "reference")), protocol.Disconnect{Cause: 16})
		},
		"reset": func(*rapid.T) { w.request(protocol.NoCall, protocol.Reset{Cause: 1}) },
		"repeat": func(t *rapid.T) {
			r := w.sent[w.pick(t)]
			r.epoch = w.epoch
			w.send(r)
		},
		"be late": func(t *rapid.T) { w.send(w.sent[w.pick(t)]) },
		"burst": func(*rapid.T) {
			for range access.MaxRing / 4 {
				w.request(7, protocol.Reset{Cause: 1})
			}
		},
		"end a call": func(t *rapid.T) {
			if len(w.calls) == 0 {
				t.Skip("there is none")
			}
			key := w.calls[rapid.IntRange(0, len(w.calls)-1).Draw(t, "which")]
			w.notify(key, &saga.EndCall{})
			w.gone(key)
		},
		"let time pass": func(t *rapid.T) { w.pass(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second) },
		"log on elsewhere": func(*rapid.T) {
			w.last++
			w.on(w.last)
		},
		"restart": func(*rapid.T) {
			w.boot++
			w.next, w.sent = 0, nil
			w.last++
			w.on(w.last)
		},
		"": func(t *rapid.T) {
			s := w.station()
			if len(s.Calls) != len(w.calls) {
				t.Fatalf("the record has %d calls, there are %d", len(s.Calls), len(w.calls))
			}
			if len(s.Memory.Ring) > access.MaxRing {
				t.Fatalf("%d transactions are remembered", len(s.Memory.Ring))
			}
		},
	}
}

// Whatever a station repeats, however late and wherever, each of its requests has its effect once: each CALL-SETUP makes at most one call.
func TestRequestsOfARestlessStation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &wanderer{
			gateway: newGateway(t, self), t: rt, boot: boot, last: home, told: map[string]int{}, first: map[string]string{},
		}
		w.on(home)
		rt.Repeat(w.actions())
	})
}
