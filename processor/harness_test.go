package processor_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/statestore"
	"skyring/testbed/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = time.Minute

// must ends the test on an error.
func must[T any](tb testing.TB) func(T, error) T {
	tb.Helper()
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// wait asks until it is so.
func wait(tb testing.TB, so func() bool) {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline.C:
			tb.Fatal("did not happen")
		case <-tick.C:
		}
	}
}

// site is a Redis and a NATS server with what connects to them.
type site struct {
	tb    testing.TB
	redis *servers.Redis
	url   string // of Redis
	nats  *servers.NATS
	log   zerolog.Logger
	store func() *statestore.Store // one for what a test looks at
}

func newSite(tb testing.TB) *site {
	tb.Helper()
	cfg := servers.DefaultRedisConfig(tb.TempDir())
	cfg.AppendFsync = "always"
	r := must[*servers.Redis](tb)(servers.StartRedis(tb.Context(), cfg))
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			tb.Error(err)
		}
	})
	n := must[*servers.NATS](tb)(servers.StartNATS(tb.Context(), servers.NATSConfig{}))
	tb.Cleanup(n.Shutdown)
	s := &site{tb: tb, redis: r, url: r.URL(), nats: n, log: zerolog.Nop()}
	s.store = sync.OnceValue(s.open)
	return s
}

func (s *site) connect(name string) *bus.Conn {
	s.tb.Helper()
	cfg := bus.DefaultConfig()
	cfg.URL = s.nats.URL()
	c := must[*bus.Conn](s.tb)(bus.Connect(s.tb.Context(), cfg, name, zerolog.Nop()))
	s.tb.Cleanup(c.Close)
	return c
}

func (s *site) open() *statestore.Store {
	s.tb.Helper()
	cfg := statestore.DefaultConfig()
	cfg.URL = s.url
	cfg.Timeout, cfg.DialTimeout = patience, time.Second // a busy machine is no failed store
	store := must[*statestore.Store](s.tb)(statestore.Open(s.tb.Context(), cfg, zerolog.Nop()))
	s.tb.Cleanup(func() { _ = store.Close() })
	return store
}

// node is a running processor.
type node struct {
	*processor.Processor

	id   string
	stop func() error // drains, and gives what Run returned
}

// start runs a processor that drains in no time.
func (s *site) start(id string, handlers processor.Handlers, change ...func(*processor.Processor)) node {
	s.tb.Helper()
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.Workers, cfg.DrainQuiet, cfg.Heartbeat = id, 3, 20*time.Millisecond, 50*time.Millisecond
	return s.startWith(cfg, handlers, change...)
}

func (s *site) startWith(cfg processor.Config, handlers processor.Handlers, change ...func(*processor.Processor)) node {
	s.tb.Helper()
	conn := s.connect(cfg.ID)
	p := must[*processor.Processor](s.tb)(processor.New(cfg, s.open(), conn, handlers, s.log))
	for _, c := range change {
		c(p)
	}
	watch := s.watch(cfg.ID)
	ctx, cancel := context.WithCancel(s.tb.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	s.tb.Cleanup(func() {
		if err := stop(); err != nil {
			s.tb.Error(err)
		}
	})
	for h := range watch {
		if h.State == bus.Ready {
			break
		}
	}
	return node{Processor: p, id: cfg.ID, stop: stop}
}

// watch gives the heartbeats of a node.
func (s *site) watch(id string) <-chan bus.Heartbeat {
	s.tb.Helper()
	beats := make(chan bus.Heartbeat, 1024)
	conn := s.connect("watch")
	must[*bus.Subscription](s.tb)(conn.Subscribe(bus.Namespace("default").Heartbeats(), func(m bus.Message) {
		if h, err := bus.DecodeHeartbeat(m.Data); err == nil && h.ID == id {
			select {
			case beats <- h:
			default:
			}
		}
	}))
	ctx, cancel := context.WithTimeout(s.tb.Context(), patience)
	defer cancel()
	if err := conn.Flush(ctx); err != nil {
		s.tb.Fatal(err)
	}
	return beats
}

// dispatcher sends frames and collects answers, as a dispatcher does.
type dispatcher struct {
	tb          testing.TB
	conn        *bus.Conn
	id          string
	incarnation uint64
	answers     chan bus.Answer
}

func (s *site) dispatcher(id string, incarnation uint64) *dispatcher {
	s.tb.Helper()
	d := &dispatcher{tb: s.tb, conn: s.connect(id), id: id, incarnation: incarnation, answers: make(chan bus.Answer, 1<<16)}
	must[*bus.Subscription](s.tb)(d.conn.Subscribe(bus.Namespace("default").Dispatcher(id), func(m bus.Message) {
		if m.NoResponders || bus.IsDeliver(m.Data) {
			return
		}
		r, err := bus.DecodeAnswers(m.Data)
		if err != nil || r.Dispatcher() != incarnation {
			s.tb.Errorf("answers for %d: %v", r.Dispatcher(), err)
			return
		}
		var a bus.Answer
		for r.Next(&a) {
			d.answers <- a
		}
	}))
	return d
}

// send sends one frame.
func (d *dispatcher) send(to string, envelopes ...bus.Envelope) {
	d.tb.Helper()
	if err := d.try(to, envelopes...); err != nil {
		d.tb.Fatal(err)
	}
}

func (d *dispatcher) try(to string, envelopes ...bus.Envelope) error {
	var w bus.EnvelopeWriter
	w.Reset(nil, d.incarnation)
	for i := range envelopes {
		if err := w.Append(&envelopes[i]); err != nil {
			return err
		}
	}
	ns := bus.Namespace("default")
	return d.conn.Publish(ns.Node(to), ns.Dispatcher(d.id), w.Bytes())
}

// next waits for an answer.
func (d *dispatcher) next() bus.Answer {
	d.tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case a := <-d.answers:
		return a
	case <-deadline.C:
		d.tb.Fatal("no answer")
		return bus.Answer{}
	}
}

// ask sends a frame and gives the statuses in the order of its entries, which count from 1.
func (d *dispatcher) ask(to string, envelopes ...bus.Envelope) []bus.Status {
	d.tb.Helper()
	for i := range envelopes {
		envelopes[i].Entry = uint64(i)
	}
	d.send(to, envelopes...)
	got := make([]bus.Status, len(envelopes))
	for range envelopes {
		a := d.next()
		got[a.Entry] = a.Status
	}
	return got
}

// say is a live message of association 7.
func say(sequence, after uint64, payload string) bus.Envelope {
	return with(env(sequence, after, payload), func(e *bus.Envelope) { e.Expiry = time.Now().Add(30 * time.Second).UnixMicro() })
}

// body reads what the session "key" holds.
func (s *site) body() string {
	s.tb.Helper()
	store := s.store()
	x, err := store.Session(s.tb.Context(), []byte("key"))
	if err != nil || x.Err != nil {
		s.tb.Fatalf("%v, %v", err, x.Err)
	}
	return string(x.Record.Body)
}

// logged gathers log lines.
type logged struct {
	mu    sync.Mutex
	lines []byte // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, p...)
	return len(p), nil
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.lines)
}

var _ io.Writer = (*logged)(nil)
