package call_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"skyring/processor/call"
	"skyring/protocol"
	"skyring/protocol/key"
)

// holders are the channels that pools have given out, by call and side.
func (w *world) holders() map[string]protocol.Channel {
	all := map[string]protocol.Channel{}
	for k, b := range w.bodies {
		if key.KindOf([]byte(k)) != key.KindPool {
			continue
		}
		p, err := call.DecodePool(b)
		if err != nil {
			w.t.Fatal(err)
		}
		if p.Granted-p.Freed != uint64(len(p.Held)) {
			w.t.Fatalf("pool %v: granted %d, freed %d, held %d", p.Beam, p.Granted, p.Freed, len(p.Held))
		}
		for _, h := range p.Held {
			all[fmt.Sprintf("%s%d", h.Call, h.Side)] = protocol.Channel{Beam: p.Beam, Number: h.Channel}
		}
	}
	return all
}

// check is what holds at any time: what a call believes to hold, the pool says it holds, and nobody else (I3); and a call has a CDR when it is over.
func (w *world) check() {
	holders := w.holders()
	believed := map[protocol.Channel]string{}
	for k, b := range w.bodies {
		if key.KindOf([]byte(k)) != key.KindCall {
			continue
		}
		c, err := call.Decode(b)
		if err != nil {
			w.t.Fatal(err)
		}
		for i, e := range []call.End{c.Calling, c.Called} {
			if e.Hold != call.HoldGranted {
				continue
			}
			who := fmt.Sprintf("%s%d", k, i+1)
			channel := protocol.Channel{Beam: e.Beam, Number: e.Channel}
			if other := believed[channel]; other != "" || holders[who] != channel {
				w.t.Fatalf("%s believes to hold %v; so does %q, the pool says %v", key.Format([]byte(k)), channel, other, holders[who])
			}
			believed[channel] = who
		}
		want := 0
		if c.Ended != 0 {
			want = 1
		}
		if len(w.cdrs[k]) != want {
			w.t.Fatalf("%s: %v with %d CDRs", key.Format([]byte(k)), c.State, len(w.cdrs[k]))
		}
	}
}

// verdict is what must be true when all has settled; the error tells what is not.
func (w *world) verdict() error {
	holders := w.holders()
	for k, b := range w.bodies {
		if key.KindOf([]byte(k)) != key.KindCall {
			continue
		}
		c, err := call.Decode(b)
		if err != nil {
			return err
		}
		name := key.Format([]byte(k))
		switch c.State { //nolint:exhaustive // the others are not the end
		case call.Active:
			for i, e := range []call.End{c.Calling, c.Called} {
				who := fmt.Sprintf("%s%d", k, i+1)
				if (holders[who] != protocol.Channel{Beam: e.Beam, Number: e.Channel}) {
					return fmt.Errorf("%s is active, %s holds %v", name, who, holders[who])
				}
				delete(holders, who)
			}
		case call.Ended:
			if w.stations[k+"1"].known || w.stations[k+"2"].known {
				return fmt.Errorf("%s has ended, and a station's record still knows it", name)
			}
			if len(w.cdrs[k]) != 1 {
				return fmt.Errorf("%s has ended with %d CDRs", name, len(w.cdrs[k]))
			}
		default:
			return fmt.Errorf("%s is stuck: %s", name, described(c))
		}
	}
	if len(holders) > 0 {
		return fmt.Errorf("channels leaked: %v", holders)
	}
	return nil
}

func TestWhateverHappens(t *testing.T) {
	ends := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 4).Draw(t, "calls"), rapid.IntRange(1, 4).Draw(t, "channels"))
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			w.step()
		}
		w.settle()
		if err := w.verdict(); err != nil {
			t.Fatal(err)
		}
		for k, b := range w.bodies {
			if key.KindOf([]byte(k)) == key.KindCall {
				c, err := call.Decode(b)
				if err != nil {
					t.Fatal(err)
				}
				ends[fmt.Sprintf("%v, cause %v", c.State, c.Cause)]++
			}
		}
	})
	t.Log(ends)
	if len(ends) < 5 {
		t.Errorf("calls ended in %d ways only", len(ends))
	}
}

// TestForgottenAllocation switches R7 off on the call's side: a call whose waiting was ended by a timer takes no more notice of the channel that it asked for.
func TestForgottenAllocation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, off := range []bool{false, true} {
			w := newWorld(t, 1, 2)
			if off {
				w.calls = call.ForgetfulCalls{Calls: call.New(call.DefaultConfig())}
			}
			w.calm = true
			w.deliver(w.pending()[0]) // Setup
			w.deliver(w.pending()[0]) // Offer
			w.deliver(w.pending()[0]) // OfferResult
			w.fire(w.armed()[0])      // T303: the allocations are still on their way
			w.settle()
			if err := w.verdict(); (err != nil) != off {
				t.Fatalf("off %v: %v", off, err)
			}
		}
	})
}
