package calibrate

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"skyring/protocol"
	"skyring/protocol/bus"
)

const (
	dispatcherID = "calibrate"
	pace         = time.Millisecond // between two looks at what is due
	frameLimit   = 256              // messages of a frame, as dispatchers have it
	most         = 1 << 19          // messages that may be unanswered
	slack        = 256              // messages that may be unanswered at any rate
	hopelessly   = 3                // response targets of unanswered messages end a round
)

// generator is the dispatcher of all sources. Its methods are for one goroutine; answers come on another one.
type generator struct {
	// static after newGenerator
	conn         *bus.Conn
	namespace    bus.Namespace
	node         string
	incarnation  uint64
	lifetime     time.Duration // of a message
	start        time.Time
	subscription *bus.Subscription
	replies      chan bus.Answer // those before the rounds; at most window come
	sent         []atomic.Int64  // by entry: when it was due, ns since start, and whether a HEARTBEAT-ACK is wanted in the lowest bit

	// owned by the caller
	mix   mix
	entry uint64        // of the last message
	ahead time.Duration // the store's clock is, of this one's

	round atomic.Pointer[tally] // nil: none, answers are replies
}

// tally counts the answers of a round.
type tally struct {
	first uint64        // entry; static
	all   chan struct{} // static; closed when total is known and reached

	mu       sync.Mutex
	answered int                     // guarded by mu
	total    int                     // guarded by mu; 0: more are sent
	failed   int                     // guarded by mu
	last     time.Time               // guarded by mu; of the last answer
	times    *hdrhistogram.Histogram // guarded by mu; us
}

func newGenerator(cfg Config, conn *bus.Conn) (*generator, error) {
	g := &generator{
		conn: conn, namespace: cfg.Processor.Namespace, node: cfg.Processor.ID, incarnation: rand.Uint64(), start: time.Now(),
		lifetime: min(cfg.Processor.LongestExpiry/2, 30*time.Second), replies: make(chan bus.Answer, 2*window), sent: make([]atomic.Int64, most),
		mix: mix{payload: make([]byte, foreignSize)},
	}
	epoch := uint64(time.Now().UnixMicro())
	for range cfg.Sessions {
		epoch++
		g.mix.foreign = append(g.mix.foreign, foreignSource(epoch))
	}
	for i := range cfg.Stations {
		epoch++
		g.mix.stations = append(g.mix.stations, stationSource(epoch, protocol.StationID(i+1)))
	}
	var err error
	g.subscription, err = conn.Subscribe(g.namespace.Dispatcher(dispatcherID), g.frame)
	return g, err //nolint:wrapcheck // it says what was done
}

func (g *generator) close() error { return g.subscription.Unsubscribe() }

// succeeded tells that a message had its effect, or needs none.
func succeeded(s bus.Status) bool { return s == bus.Committed || s == bus.Refused }

// send sends messages that were due at a time, all in one frame.
func (g *generator) send(frame []bus.Envelope, heartbeats []bool, due time.Time) error {
	var w bus.EnvelopeWriter
	w.Reset(make([]byte, 0, len(frame)*(bus.EnvelopeOverhead+2*foreignSize)), g.incarnation)
	expiry := time.Now().Add(g.ahead + g.lifetime).UnixMicro()
	for i := range frame {
		g.entry++
		sent := due.Sub(g.start).Nanoseconds() &^ 1
		if heartbeats[i] {
			sent |= 1
		}
		g.sent[g.entry%most].Store(sent)
		frame[i].Entry, frame[i].Expiry = g.entry, expiry
		if err := w.Append(&frame[i]); err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
	}
	return g.conn.Publish(g.namespace.Node(g.node), g.namespace.Dispatcher(dispatcherID), w.Bytes()) //nolint:wrapcheck // it says what was done
}

// frame takes answers, and what is for stations.
func (g *generator) frame(m bus.Message) {
	if m.NoResponders {
		return
	}
	if bus.IsDeliver(m.Data) {
		g.deliver(m)
		return
	}
	r, err := bus.DecodeAnswers(m.Data)
	if err != nil || r.Dispatcher() != g.incarnation {
		return
	}
	round, now := g.round.Load(), time.Now()
	var a bus.Answer
	for r.Next(&a) {
		if round == nil {
			a.Reply.Payload = append([]byte(nil), a.Reply.Payload...)
			select {
			case g.replies <- a:
			default: // nobody asked
			}
			continue
		}
		if a.Entry >= round.first { // else it is of a round that was given up
			sent := g.sent[a.Entry%most].Load()
			round.take(now, now.Sub(g.start)-time.Duration(sent), answersWell(&a, sent&1 == 1))
		}
	}
}

// answersWell tells that an answer is the one that was wanted.
func answersWell(a *bus.Answer, heartbeat bool) bool {
	if !succeeded(a.Status) {
		return false
	}
	return !heartbeat || a.HasReply && len(a.Reply.Payload) > 1 && protocol.Type(a.Reply.Payload[1]) == protocol.TypeHeartbeatAck
}

// deliver takes what the gateway says to stations, as SCTP would.
func (g *generator) deliver(m bus.Message) {
	r, err := bus.DecodeDeliver(m.Data)
	if err != nil {
		return
	}
	var w bus.DeliveredWriter
	w.Reset(nil, g.incarnation, r.Node())
	var one bus.Delivery
	for r.Next(&one) {
		if w.Append(bus.Delivered{Number: one.Number, Status: bus.Taken}) != nil {
			break // full: the processor asks again for the rest
		}
	}
	_ = g.conn.Publish(m.Reply, "", w.Bytes()) // the processor asks again
}

// take counts an answer.
func (t *tally) take(now time.Time, took time.Duration, well bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered++
	t.last = now
	if !well {
		t.failed++
	}
	_ = t.times.RecordValue(min(took.Microseconds(), t.times.HighestTrackableValue())) // it is in range
	if t.answered == t.total {
		close(t.all)
	}
}

// unanswered is how many of those that were sent have no answer.
func (t *tally) unanswered(sent int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sent - t.answered
}

// end tells how many were sent.
func (t *tally) end(sent int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.total = sent; t.answered == sent {
		close(t.all)
	}
}
