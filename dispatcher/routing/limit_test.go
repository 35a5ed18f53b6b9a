package routing_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

// server is a node with a queue: it answers rate messages a second, each not before it has had it for a while.
type server struct {
	rate  float64
	delay time.Duration

	queue []served
	owed  float64 // messages that it could have answered by now
}

type served struct {
	bus.Answer

	at time.Duration
}

// limitWorld is a core with one such node, in simulated time.
type limitWorld struct {
	t        *testing.T
	cfg      routing.Config
	core     *routing.Core
	now      time.Duration
	node     server
	beats    uint64
	own      uint32 // the node's own limit
	sequence uint64
	owed     float64 // messages to be submitted
	done     int
	limits   []int // at each second
}

func newLimitWorld(t *testing.T, node server) *limitWorld {
	t.Helper()

	cfg := testConfig()
	cfg.InFlightLimit, cfg.HardCap, cfg.MaxBytesPerNode, cfg.RetryRate = 1024, 2048, 8<<20, 500
	w := &limitWorld{t: t, cfg: cfg, core: routing.New(cfg, 1), node: node}
	w.beat()

	members, _ := w.core.PolicyWanted()

	p, err := policy.New(policy.Default, members, policy.Options{Ring: ring.DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}

	w.core.SetPolicy(0, p)

	return w
}

func (w *limitWorld) beat() {
	w.beats++
	w.core.Heartbeat(w.now, bus.Heartbeat{ID: "a", Incarnation: 1, Sequence: w.beats, State: bus.Ready, Capacity: 100, InFlightLimit: w.own})
}

// run lets messages come at a rate, as long as few enough are unanswered.
func (w *limitWorld) run(d time.Duration, demand float64) {
	for end := w.now + d; w.now < end; {
		w.now += overloadTick
		w.core.Tick(w.now)
		w.core.Done()

		if w.now%time.Second == 0 {
			w.beat()
			w.limits = append(w.limits, w.limit())
		}

		for w.owed += demand * overloadTick.Seconds(); w.owed >= 1 && w.core.Unanswered() < waiting; w.owed-- {
			w.submit()
		}

		w.owed = min(w.owed, 1)

		w.fill()
		w.serve()
	}
}

func (w *limitWorld) submit() {
	w.sequence++
	k := binary.BigEndian.AppendUint64(nil, w.sequence)
	w.core.Submit(w.now, &routing.Message{Epoch: 1, Sequence: w.sequence, Key: k, Hash: xxh3.Hash(k), Payload: k})
}

func (w *limitWorld) fill() {
	for {
		var (
			frame bus.EnvelopeWriter
			e     bus.Envelope
		)

		frame.Reset(nil, 1)

		if w.core.Fill(w.now, w.core.Nodes(0)[0], &frame, routing.Frame{Messages: 256, Bytes: 1 << 18}) == 0 {
			return
		}

		r, err := bus.DecodeEnvelopes(frame.Bytes())
		if err != nil {
			w.t.Fatal(err)
		}

		for r.Next(&e) {
			w.node.queue = append(w.node.queue, served{bus.Answer{Entry: e.Entry, Attempt: e.Attempt, Status: bus.Committed}, w.now})
		}
	}
}

// serve answers what is due. A node that had nothing to do cannot do more later.
func (w *limitWorld) serve() {
	n := &w.node
	n.owed += n.rate * overloadTick.Seconds()

	count := 0
	for count < len(n.queue) && float64(count) < n.owed-1 && n.queue[count].at+n.delay <= w.now {
		count++
	}

	if count == len(n.queue) || n.queue[count].at+n.delay > w.now {
		n.owed = min(n.owed, float64(count)+1)
	}

	if count == 0 {
		return
	}

	n.owed -= float64(count)
	w.done += count
	w.core.Heard(w.now, 1)

	for i := range n.queue[:count] {
		w.core.Answer(w.now, 1, &n.queue[i].Answer)
	}

	n.queue = slices.Delete(n.queue, 0, count)
}

func (w *limitWorld) limit() int { return w.core.Stats().Nodes[0].Limit }

// settled checks that the limit was within a tenth of what it should be in the last seconds.
func (w *limitWorld) settled(what string, last, want int) {
	w.t.Helper()

	limits := w.limits[len(w.limits)-last:]
	w.t.Logf("%s: limit %v, response %s", what, limits, w.core.Stats().Nodes[0].Response)

	for _, l := range limits {
		if l < want*9/10 || l > want*11/10 {
			w.t.Errorf("%s: limit %v, want about %d", what, limits, want)

			return
		}
	}
}

const (
	flood   = 10_000 // messages a second: more than any of these nodes can do
	waiting = 5000   // messages unanswered at most, more than any hard cap
)

// A node that everybody floods has in flight what it does within the target, twice; when it slows down it gets less, and
// when it is quick again more. None of its messages moves.
func TestLimitFollowsANodeThatSlowsAndRecovers(t *testing.T) {
	w := newLimitWorld(t, server{rate: 3000})

	w.run(20*time.Second, flood)
	w.settled("3000 a second", 10, 600)

	w.node.rate = 1000
	w.run(20*time.Second, flood)
	w.settled("slowed to 1000", 10, 200)

	w.node.rate = 100
	w.run(30*time.Second, flood)
	w.settled("slowed to 100", 10, 128) // an eighth of the configured limit

	w.node.rate = 3000
	w.run(20*time.Second, flood)
	w.settled("quick again", 10, 600)

	for cause, n := range w.core.Stats().Resent {
		if n > 0 {
			t.Errorf("%d sent again by %s", n, routing.Cause(cause))
		}
	}
}

// A node that is quick and slow by turns does all that it can, and its limit stays between what its two speeds need.
func TestLimitOfANodeThatOscillates(t *testing.T) {
	w := newLimitWorld(t, server{rate: 3000})
	w.run(10*time.Second, flood)

	w.limits, w.done = nil, 0

	could := 0

	for i := range 12 {
		w.node.rate = []float64{1000, 3000}[i%2]
		could += int(w.node.rate) * 5

		w.run(5*time.Second, flood)
	}

	t.Logf("%d of %d done, limits %v", w.done, could, w.limits)

	if least, most := slices.Min(w.limits), slices.Max(w.limits); least < 180 || most > 700 {
		t.Errorf("limits from %d to %d, want 200 to 600", least, most)
	}

	if w.done < could*95/100 {
		t.Errorf("%d done of %d that the node could do", w.done, could)
	}
}

// A node with room to spare keeps the configured limit.
func TestLimitOfAHealthyNodeStays(t *testing.T) {
	w := newLimitWorld(t, server{rate: 3000})
	w.run(20*time.Second, 2500)
	w.settled("2500 of 3000", 19, 1024)
}

// A node that takes its time for another reason than a queue is not held back.
func TestLimitOfANodeThatIsFarAway(t *testing.T) {
	w := newLimitWorld(t, server{rate: 50_000, delay: 150 * time.Millisecond})
	w.run(30*time.Second, 5000)

	if n := w.core.Stats().Nodes[0]; w.done < 29*5000 || n.Status != routing.Open {
		t.Errorf("%d of %d done, limits %v", w.done, 30*5000, w.limits)
	}
}

// A node's own limit takes the place of the configured one, from its next heartbeat on.
func TestLimitThatTheNodeAsksFor(t *testing.T) {
	w := newLimitWorld(t, server{rate: 3000})

	for _, own := range []uint32{16, 4096, 1, 1 << 31, 0} {
		w.own = own
		w.beat()

		want, hardCap := int(own), 2*int(own)

		switch own {
		case 0:
			want, hardCap = 1024, 2048
		case 1 << 31:
			want, hardCap = 1<<20, 2<<20
		}

		if n := w.core.Stats().Nodes[0]; n.Limit != want || n.HardCap != hardCap {
			t.Errorf("own limit %d: limit %d, hard cap %d", own, n.Limit, n.HardCap)
		}
	}

	w.own = 16
	w.beat()
	w.run(10*time.Second, flood)
	w.settled("16 at most", 9, 16)
}

// The hard cap grows with the limit that a node asks for, but stays a number that policies can be told.
func TestHardCapOfALargeLimitStaysInRange(t *testing.T) {
	cfg := testConfig()
	cfg.InFlightLimit, cfg.HardCap = 1, 1<<12

	r := newReporter(t, cfg, 1)
	r.beat(0, bus.Heartbeat{InFlightLimit: 1 << 20, CPU: 1}) // 1<<32 would be 0 in a policy

	r.submit()

	if n := r.node(0); n.InFlight != 1 {
		t.Errorf("the only node takes nothing: %+v", n)
	}
}

// A node that is slow at what little it has keeps its limit: that is not to blame.
func TestLimitOfASlowNodeWithLittleToDoStays(t *testing.T) {
	w := newLimitWorld(t, server{rate: 50_000, delay: 300 * time.Millisecond})
	w.run(20*time.Second, 200)
	w.settled("200 a second, 300 ms each", 19, 1024)
}
