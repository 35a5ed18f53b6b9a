package routing_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

const (
	overloadTick = 5 * time.Millisecond
	serviceRate  = 3000 // messages a second of a node
	burst        = 300 * time.Millisecond
)

// queueing is a node that commits serviceRate messages a second in order of arrival, and
// answers every burst: it works, and is slow.
type queueing struct {
	id          string
	incarnation uint64
	queue       []bus.Answer
	beats       uint64
}

// overload is two such nodes under associations that have more to send than these can do.
type overload struct {
	t     *testing.T
	core  *routing.Core
	now   time.Duration
	nodes []*queueing
	next  map[uint64]uint64 // sequence by epoch
	since map[uint64]time.Duration
}

func newOverload(t *testing.T) *overload {
	t.Helper()

	cfg := testConfig()
	cfg.InFlightLimit, cfg.HardCap, cfg.MaxBytesPerNode, cfg.RetryRate = 1024, 2048, 8<<20, 500
	o := &overload{t: t, core: routing.New(cfg, 1), next: map[uint64]uint64{}, since: map[uint64]time.Duration{}}

	for i, id := range []string{"a", "b"} {
		o.nodes = append(o.nodes, &queueing{id: id, incarnation: uint64(i + 1)})
	}

	o.beat()

	members, _ := o.core.PolicyWanted()

	r, err := policy.New(policy.Default, members, policy.Options{Ring: ring.Config{Bits: 8}})
	if err != nil {
		t.Fatal(err)
	}

	o.core.SetPolicy(0, r)

	return o
}

func (o *overload) beat() {
	for _, n := range o.nodes {
		n.beats++
		o.core.Heartbeat(o.now, bus.Heartbeat{ID: n.id, Incarnation: n.incarnation, Sequence: n.beats, State: bus.Ready, Capacity: 100})
	}
}

// submit takes one message of an association under a key of its own.
func (o *overload) submit(epoch uint64) {
	o.next[epoch]++
	k := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, epoch), o.next[epoch])
	o.core.Submit(o.now, &routing.Message{Epoch: epoch, Sequence: o.next[epoch], Key: k, Hash: xxh3.Hash(k), Payload: k})
}

// tick lets a little time pass and returns the associations whose messages are done.
func (o *overload) tick() (done []uint64) {
	o.now += overloadTick
	if o.now%time.Second == 0 {
		o.beat()
	}

	o.core.Tick(o.now)

	for i, handle := range o.core.Nodes(0) {
		o.fill(handle, o.nodes[i])

		if o.now%burst == 0 {
			o.answer(o.nodes[i])
		}
	}

	for _, f := range o.core.Done() {
		done = append(done, f.Epoch)
	}

	return done
}

func (o *overload) fill(handle routing.Node, n *queueing) {
	for {
		var (
			w bus.EnvelopeWriter
			e bus.Envelope
		)

		w.Reset(nil, 1)

		if o.core.Fill(o.now, handle, &w, routing.Frame{Messages: 256, Bytes: 1 << 18}) == 0 {
			return
		}

		r, err := bus.DecodeEnvelopes(w.Bytes())
		if err != nil {
			o.t.Fatal(err)
		}

		for r.Next(&e) {
			n.queue = append(n.queue, bus.Answer{Entry: e.Entry, Attempt: e.Attempt, Status: bus.Committed})
		}
	}
}

func (o *overload) answer(n *queueing) {
	count := min(len(n.queue), int(serviceRate*burst/time.Second))
	if count == 0 {
		return
	}

	o.core.Heard(o.now, n.incarnation)

	for i := range n.queue[:count] {
		o.core.Answer(o.now, n.incarnation, &n.queue[i])
	}

	n.queue = n.queue[count:]
}

// TestOverloadMovesNothing has 20 associations hold as much unanswered as they may. The
// nodes work: none is stalled, nothing is sent twice, and what is in flight is what they do
// within a few deadlines. An association that sends one message at a time gets its turns.
func TestOverloadMovesNothing(t *testing.T) {
	o := newOverload(t)

	const (
		floods  = 20
		held    = 1024
		patient = 1000 // the epoch of who sends one at a time
	)

	for epoch := range uint64(floods) {
		for range held {
			o.submit(epoch + 1)
		}
	}

	var (
		asked time.Duration
		waits []time.Duration
	)

	o.submit(patient)

	for o.now < 20*time.Second {
		for _, epoch := range o.tick() {
			if epoch == patient {
				waits = append(waits, o.now-asked)
				asked = o.now
			}

			o.submit(epoch)
		}

		for _, e := range o.core.Events() {
			if e.Kind != routing.NodeUp {
				t.Errorf("node %s: %s at %s", e.Node, e.Kind, o.now)
			}
		}
	}

	s := o.core.Stats()
	for cause, n := range s.Resent {
		if n > 0 {
			t.Errorf("%d sent again by %s", n, routing.Cause(cause))
		}
	}

	for _, n := range s.Nodes {
		t.Logf("%s: limit %d, in flight %d, response %s", n.ID, n.Limit, n.InFlight, n.Response)

		if n.InFlight > serviceRate/2 { // a deadline's worth, and a quarter
			t.Errorf("%s has %d in flight", n.ID, n.InFlight)
		}
	}

	last := waits[len(waits)/2:]
	t.Logf("who sends one at a time waited %s", last)

	for _, w := range last {
		if w > 2*time.Second {
			t.Errorf("waited %s", w)
		}
	}

	if total := s.Submitted - uint64(s.Unanswered); total < 20*serviceRate*8/10*2 {
		t.Errorf("%d done: the nodes could do more", total)
	}
}
