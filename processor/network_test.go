package processor_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/protocol/bus"
)

// rounds of the property are played, each of which takes some seconds at the heaviest rate of crashes; more only to find the smallest failure.
const rounds = 12

// dice lets processors forget what they are about to do, at random.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand // guarded by mu
	sides  int        // guarded by mu; one in so many, 0: never
}

func (d *dice) roll(seed uint64, sides int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.random, d.sides = rand.New(rand.NewPCG(seed, 0)), sides
}

func (d *dice) crash(processor.Point, processor.Event) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sides > 0 && d.random.IntN(d.sides) == 0
}

// insist sends an envelope to nodes in turn until it is done.
func (d *dispatcher) insist(nodes []node, e bus.Envelope) {
	d.tb.Helper()
	for attempt := range 1000 {
		d.send(nodes[(int(e.Sequence)+attempt)%len(nodes)].id, e)
		again := time.NewTimer(20 * time.Millisecond)
		for waiting := true; waiting; {
			select {
			case a := <-d.answers:
				if a.Entry == e.Entry && a.Status.Done() {
					again.Stop()
					return
				}
				waiting = a.Entry != e.Entry
			case <-again.C:
				waiting = false
			}
		}
	}
	d.tb.Fatal("never done")
}

// Whatever processors forget between any two steps, whichever of three gets what, and however often: every notification takes effect once and in
// order, there and back; every timer fires once; and no outbox keeps anything.
func TestEveryNotificationTakesEffectOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.everySecond(t)
	var d dice
	crash := func(p *processor.Processor) { p.Crash(d.crash) }
	nodes := []node{s.quick("p", crash), s.quick("q", crash), s.quick("r", crash)}
	from := s.dispatcher("d", 1)
	round, entry, failing := uint64(0), uint64(0), false
	rapid.Check(t, func(t *rapid.T) {
		if round++; round > rounds && !failing {
			return
		}
		defer func() { failing = failing || t.Failed() }()
		messages := rapid.IntRange(1, 12).Draw(t, "messages")
		d.roll(rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]int{0, 3, 4, 8, 20}).Draw(t, "sides"))
		a, b, c := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round), fmt.Sprintf("c%d", round)
		var there, back strings.Builder
		for i := range messages {
			entry++
			e := to(a, uint64(i+1), fmt.Sprintf("arm %d 1|tell %s:go %d,tell %s:%d|tell %s:%d", i, b, i, c, i, c, i))
			e.Entry, e.Epoch = entry, round
			from.insist(nodes, e)
			fmt.Fprintf(&there, "%s:go_%d,tell_%s:%d ", a, i, c, i)
			fmt.Fprintf(&back, "%d ", i)
		}
		s.settled(a, b)
		if got := s.heard(b); got != there.String() {
			t.Fatalf("b heard %q\nwant %q", got, there.String())
		}
		for _, source := range []string{a, b} { // c hears of both
			var got strings.Builder
			for one := range strings.FieldsSeq(s.heard(c)) {
				if n, ok := strings.CutPrefix(one, source+":"); ok {
					got.WriteString(n + " ")
				}
			}
			if got.String() != back.String() {
				t.Fatalf("c heard %q of %s in %q", got.String(), source, s.heard(c))
			}
		}
		for i := range messages {
			if n := strings.Count(" "+s.heard(a), fmt.Sprintf(" t%d ", i)); n != 1 {
				t.Fatalf("timer %d fired %d times: %q", i, n, s.heard(a))
			}
		}
		d.roll(0, 0)
	})
}
