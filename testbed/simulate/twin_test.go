package simulate_test

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/ring"
	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// twin is the routing core of a dispatcher in simulated time, in front of nodes with queues.
type twin struct {
	t     *rapid.T
	cfg   simulate.Config
	core  *routing.Core
	now   time.Duration
	due   agenda
	made  int // moments
	lanes [][]twinLane

	messages []twinMessage
	last     map[uint64]int // node of a station's message before

	served, repeated, same int
	sum                    float64 // ns of response
}

type twinMessage struct {
	simulate.Message

	entry   uint64
	attempt uint32
	node    int
	lane    int
}

// twinLane is a queue of messages and those who work it off.
type twinLane struct {
	workers, busy int
	queue         []int
}

// moment is a message that comes or is done, or a look at the clock.
type moment struct {
	at      time.Duration
	number  int // of its making, which orders those of one nanosecond, as in the simulator
	message int // -1: the clock
	done    bool
}

type agenda []moment

func (a agenda) Len() int      { return len(a) }
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(moment)) }

func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].number < a[j].number
}

func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]

	return last
}

const (
	look  = 100 * time.Millisecond // between two looks at the clock; a core takes longer ones for a standstill
	never = time.Hour
)

func newTwin(t *rapid.T, c simulate.Config, limit, hardCap int) *twin {
	w := &twin{t: t, cfg: c, last: map[uint64]int{}}
	w.core = routing.New(routing.Config{
		Window: c.Window, InFlightLimit: limit, HardCap: hardCap, MaxBytesPerNode: math.MaxInt32,
		Deadline: never, DeadlineMax: never, RetryDelay: never, RetryShare: 1, RetryRate: 1, Probe: never, Expiry: never,
		Heartbeat: never, MaxNodes: len(c.Nodes), NodeMemory: never, ResponseTarget: c.Limits.ResponseTarget, Hysteresis: never,
	}, 1)

	for i, n := range c.Nodes {
		w.core.Heartbeat(0, bus.Heartbeat{ID: fmt.Sprintf("node-%05d", i+1), Incarnation: uint64(i + 1), Sequence: 1, State: bus.Ready, Capacity: n.Capacity})

		lanes := []twinLane{{workers: n.Workers}}
		if c.Queues == simulate.QueuePerWorker {
			lanes = make([]twinLane, n.Workers)
			for i := range lanes {
				lanes[i].workers = 1
			}
		}

		w.lanes = append(w.lanes, lanes)
	}

	members, _ := w.core.PolicyWanted()
	o := c.Options
	o.Seed = ring.Scramble(c.Seed)

	p, err := policy.New(c.Policy, members, o)
	if err != nil {
		t.Fatal(err)
	}

	w.core.SetPolicy(0, p)

	return w
}

// run has all messages of the configuration come, and works until its end.
func (w *twin) run() {
	for m := range simulate.Messages(w.cfg) {
		w.messages = append(w.messages, twinMessage{Message: m})
	}

	w.plan(moment{at: look, message: -1})
	w.planArrival(0)

	for len(w.due) > 0 && w.due[0].at <= w.cfg.Duration {
		m := heap.Pop(&w.due).(moment)
		w.now = m.at

		switch {
		case m.message < 0:
			w.core.Tick(w.now)
			w.plan(moment{at: w.now + look, message: -1})
		case m.done:
			w.finish(m.message)
		default:
			w.planArrival(m.message + 1)
			w.submit(m.message)
		}

		w.deliver()
	}
}

func (w *twin) plan(m moment) {
	m.number = w.made
	w.made++
	heap.Push(&w.due, m)
}

func (w *twin) planArrival(i int) {
	if i < len(w.messages) {
		w.plan(moment{at: w.messages[i].At, message: i})
	}
}

func (w *twin) submit(i int) {
	m := &w.messages[i]
	k := key.Station(nil, m.Station)
	w.core.Submit(w.now, &routing.Message{
		Epoch: 1, Sequence: uint64(i + 1), Key: k, Hash: key.Hash(k), Number: m.Station, Payload: binary.BigEndian.AppendUint32(nil, uint32(i)),
	})
}

// deliver brings what the core has for nodes to them.
func (w *twin) deliver() {
	for _, n := range w.core.Ready(nil) {
		var (
			frame bus.EnvelopeWriter
			e     bus.Envelope
		)

		frame.Reset(nil, 1)
		w.core.Fill(w.now, n, &frame, routing.Frame{Messages: 1 << 15, Bytes: 1 << 24})

		r, err := bus.DecodeEnvelopes(frame.Bytes())
		if err != nil {
			w.t.Fatal(err)
		}

		var node int
		if _, err := fmt.Sscanf(n.ID(), "node-%d", &node); err != nil {
			w.t.Fatal(err)
		}

		for r.Next(&e) {
			w.reach(int(binary.BigEndian.Uint32(e.Payload)), node-1, &e)
		}
	}
}

// reach brings a message to a node.
func (w *twin) reach(i, node int, e *bus.Envelope) {
	m := &w.messages[i]
	m.entry, m.attempt, m.node = e.Entry, e.Attempt, node
	m.lane = int(key.Hash(e.Key) >> 32 % uint64(len(w.lanes[node])))

	if before, met := w.last[m.Station]; met {
		w.repeated++

		if before == node {
			w.same++
		}
	}

	w.last[m.Station] = node

	l := &w.lanes[node][m.lane]
	l.queue = append(l.queue, i)
	w.begin(l)
}

func (w *twin) begin(l *twinLane) {
	for l.busy < l.workers && len(l.queue) > 0 {
		l.busy++
		w.plan(moment{at: w.now + w.messages[l.queue[0]].Work, message: l.queue[0], done: true})
		l.queue = l.queue[1:]
	}
}

// finish answers a message.
func (w *twin) finish(i int) {
	m := &w.messages[i]
	l := &w.lanes[m.node][m.lane]
	l.busy--
	w.begin(l)

	w.served++
	w.sum += float64(w.now - m.At)
	w.core.Heard(w.now, uint64(m.node+1))
	w.core.Answer(w.now, uint64(m.node+1), &bus.Answer{Entry: m.entry, Attempt: m.attempt, Status: bus.Committed})
	w.core.Done()
}

// The simulated dispatcher does as a dispatcher does, to the last nanosecond: stations stay at the node that has messages of theirs, windows, messages that
// find no node, and limits that follow the response. The policy is any that a dispatcher picks with alone (ours also binds keys in a dispatcher), and
// deadlines, whose jitter is a dispatcher's own, are far away.
func TestDispatcherDoesAsARealOne(t *testing.T) {
	var parked, adapted int

	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 4).Draw(t, "workers")
		c := base(rapid.IntRange(1, 5).Draw(t, "nodes"), workers, rapid.Float64Range(0.3, 1.4).Draw(t, "load"))
		c.Policy = rapid.SampledFrom([]string{
			"round-robin", "smooth-weighted-round-robin", "least-connections", "power-of-two", "random-placement", "paper", "plain-ring", "bounded-ring", "maglev", "modulo",
		}).Draw(t, "policy")
		c.Seed = rapid.Uint64().Draw(t, "seed")
		c.Service.Mean = 20 * time.Millisecond
		c.Arrivals.Rate /= 4
		c.Stations = simulate.Stations{Count: rapid.IntRange(1, 60).Draw(t, "stations"), Exponent: 0.8, Associations: 1}
		c.Window = rapid.IntRange(1, 8).Draw(t, "window")
		c.Queues = simulate.Queues(rapid.IntRange(0, 1).Draw(t, "queues"))
		c.Heartbeat.Every = 10_000 * time.Hour // reports have no part in this
		c.Duration, c.MovedSample = 5*time.Second, 1

		perWorker := rapid.SampledFrom([]int{2, 3, 16}).Draw(t, "limit")
		hardCap := perWorker * rapid.IntRange(1, 2).Draw(t, "hard cap")
		c.Limits = simulate.Limits{
			PerWorker: float64(perWorker), CapPerWorker: float64(hardCap),
			ResponseTarget: rapid.SampledFrom([]time.Duration{never, 30 * time.Millisecond}).Draw(t, "response target"),
		}

		w := newTwin(t, c, perWorker*workers, hardCap*workers)
		w.run()

		r, err := simulate.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}

		mean := w.sum / math.Max(float64(w.served), 1) / float64(c.Service.Mean)
		same := float64(w.same) / math.Max(float64(w.repeated), 1)

		if uint64(w.served) != r.Served || r.MeanResponse != mean || r.SameNode != same || uint64(len(w.messages)-w.served) != r.InFlight {
			t.Fatalf("simulated: %d served, mean %v, same node %v, %d in flight; a real core: %d, %v, %v, %d",
				r.Served, r.MeanResponse, r.SameNode, r.InFlight, w.served, mean, same, len(w.messages)-w.served)
		}

		s := w.core.Stats()
		if s.Waiting > 0 {
			parked++
		}

		for _, n := range s.Nodes {
			if n.Limit < perWorker*workers {
				adapted++

				break
			}
		}
	})

	if parked == 0 || adapted == 0 {
		t.Errorf("messages waited in %d runs, limits shrank in %d: want some", parked, adapted)
	}
}
