package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/dispatcher"
	"skyring/protocol/bus"
	"skyring/protocol/receipt"
	"skyring/protocol/transport"
)

const (
	patience  = 20 * time.Second
	heartbeat = 100 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eventually waits for a condition that other goroutines bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()

	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()

	limit := time.After(patience)

	for !is() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func startNATS(t *testing.T, port int) *server.Server {
	t.Helper()

	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}

	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })

	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}

	return s
}

func natsPort(s *server.Server) int { return s.Addr().(*net.TCPAddr).Port }

func connect(t *testing.T, url string) *bus.Conn {
	t.Helper()

	cfg := bus.DefaultConfig()
	cfg.URL = url
	cfg.ReconnectWait = 10 * time.Millisecond

	c, err := bus.Connect(context.Background(), cfg, t.Name(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Close)

	return c
}

// store is what the nodes of a test share, in place of Redis: marks (rule R1) and epochs.
type store struct {
	mu        sync.Mutex
	epoch     uint64
	rollback  bool                      // tell so with the next epoch
	marks     map[string]uint64         // by key and epoch
	committed map[uint64]map[uint64]int // how often, by epoch and sequence
	payloads  map[uint64][]string       // as committed, by epoch
	nodes     map[string]int            // commits by node
}

func newStore() *store {
	return &store{
		marks:     map[string]uint64{},
		committed: map[uint64]map[uint64]int{},
		payloads:  map[uint64][]string{},
		nodes:     map[string]int{},
	}
}

func (s *store) nextEpoch(floor uint64) bus.EpochReply {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := bus.EpochReply{RedisTime: time.Now().UnixMicro(), RolledBack: s.rollback || s.epoch < floor}
	s.rollback = false
	s.epoch = max(s.epoch+1, floor+1)
	r.Epoch = s.epoch

	return r
}

// apply is what a processor does with an envelope.
func (s *store) apply(node string, e *bus.Envelope) bus.Status {
	s.mu.Lock()
	defer s.mu.Unlock()

	of := fmt.Sprintf("%x/%d", e.Key, e.Epoch)

	switch {
	case e.Sequence <= s.marks[of]:
		return bus.Replayed
	case e.After > s.marks[of]:
		return bus.Gap
	case e.Expiry < time.Now().UnixMicro():
		return bus.Expired
	}

	s.marks[of] = e.Sequence
	s.nodes[node]++

	if s.committed[e.Epoch] == nil {
		s.committed[e.Epoch] = map[uint64]int{}
	}

	s.committed[e.Epoch][e.Sequence]++
	s.payloads[e.Epoch] = append(s.payloads[e.Epoch], string(e.Payload))

	return bus.Committed
}

// check fails unless n messages took effect once each.
func (s *store) check(t *testing.T, n int) {
	t.Helper()

	s.mu.Lock()
	defer s.mu.Unlock()

	total := 0

	for epoch, sequences := range s.committed {
		for sequence, times := range sequences {
			if times != 1 {
				t.Errorf("message %d of epoch %d took effect %d times", sequence, epoch, times)
			}
		}

		total += len(sequences)
	}

	if total != n {
		t.Errorf("%d messages took effect, want %d", total, n)
	}
}

func (s *store) of(node string) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.nodes[node]
}

// node is a processor of the test's own: it speaks the bus and keeps its effects in a store.
type node struct {
	t        *testing.T
	id       string
	conn     *bus.Conn
	store    *store
	state    atomic.Uint32 // bus.NodeState
	capacity atomic.Uint32
	deaf     atomic.Bool // takes frames and answers nothing
	reply    func(e *bus.Envelope) (bus.Reply, bool)
	judge    func(e *bus.Envelope) bus.Answer // in place of store and reply
	stop     context.CancelFunc
	ended    chan struct{}
	number   uint64
	beats    uint64
	beating  sync.Mutex
}

const testNamespace = bus.Namespace("test")

func startNode(t *testing.T, url, id string, s *store) *node {
	t.Helper()

	ctx, cancel := context.WithCancel(context.Background())
	n := &node{
		t: t, id: id, conn: connect(t, url), store: s, stop: cancel,
		ended: make(chan struct{}), number: uint64(time.Now().UnixNano()),
	}
	n.state.Store(uint32(bus.Ready))
	n.capacity.Store(100)

	for subject, handle := range map[string]func(bus.Message){
		testNamespace.Node(id): n.onFrame,
		testNamespace.Ask(id):  n.onAsk,
		testNamespace.Hello():  func(bus.Message) { n.beat() },
	} {
		if _, err := n.conn.Subscribe(subject, handle); err != nil {
			t.Fatal(err)
		}
	}

	go n.run(ctx)

	t.Cleanup(n.kill)

	return n
}

func (n *node) run(ctx context.Context) {
	defer close(n.ended)

	tick := time.NewTicker(heartbeat)
	defer tick.Stop()

	for {
		n.beat()

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (n *node) beat() {
	n.beating.Lock()
	defer n.beating.Unlock()

	n.beats++
	h := bus.Heartbeat{ID: n.id, Incarnation: n.number, Sequence: n.beats, State: bus.NodeState(n.state.Load()), Capacity: n.capacity.Load()}
	_ = n.conn.Publish(testNamespace.Heartbeats(), "", h.Append(nil)) // fails while NATS is away
}

func (n *node) onAsk(m bus.Message) {
	r, err := bus.DecodeEpochRequest(m.Data)
	if err != nil {
		n.t.Error(err)

		return
	}

	reply := n.store.nextEpoch(r.Floor)
	_ = n.conn.Publish(m.Reply, "", reply.Append(nil))
}

func (n *node) onFrame(m bus.Message) {
	frame, err := bus.DecodeEnvelopes(m.Data)
	if err != nil {
		n.t.Error(err)

		return
	}

	if n.deaf.Load() {
		return
	}

	var (
		w bus.AnswerWriter
		e bus.Envelope
	)

	w.Reset(nil, frame.Dispatcher(), n.number)

	for frame.Next(&e) {
		a := n.answer(&e)

		if err := w.Append(&a); err != nil {
			n.t.Error(err)
		}
	}

	_ = n.conn.Publish(m.Reply, "", w.Bytes())
}

func (n *node) answer(e *bus.Envelope) bus.Answer {
	var a bus.Answer

	if n.judge != nil {
		a = n.judge(e)
	} else {
		a.Status = n.store.apply(n.id, e)
		if n.reply != nil {
			a.Reply, a.HasReply = n.reply(e)
		}
	}

	a.Entry, a.Attempt = e.Entry, e.Attempt

	return a
}

// kill ends the node as a crash does: what it holds is lost with its subscriptions.
func (n *node) kill() {
	n.stop()
	<-n.ended
	n.conn.Close()
}

func testConfig(id string) dispatcher.Config {
	cfg := dispatcher.DefaultConfig()
	cfg.ID = id
	cfg.Namespace = testNamespace
	cfg.Receipts = true
	cfg.Heartbeat = heartbeat
	cfg.Deadline = 200 * time.Millisecond

	return cfg
}

// front is a dispatcher with its endpoint.
type front struct {
	*dispatcher.Dispatcher

	addr  netip.AddrPort
	end   func() error // ends it and waits until it has
	drain func()       // the same, and nothing may be left
}

func loopback() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") }

func startEndpoint(t *testing.T, cfg transport.Config) *transport.Endpoint {
	t.Helper()

	link, err := transport.ListenUDP(loopback())
	if err != nil {
		t.Fatal(err)
	}

	return startEndpointOn(t, link, cfg)
}

func startEndpointOn(t *testing.T, link transport.Link, cfg transport.Config) *transport.Endpoint {
	t.Helper()

	e, err := transport.New(link, cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- e.Run(ctx) }()

	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Errorf("endpoint: %v", err)
		}
	})

	return e
}

func startDispatcher(t *testing.T, url string, cfg dispatcher.Config) *front {
	t.Helper()

	return startDispatcherOn(t, url, cfg, startEndpoint(t, transport.DefaultConfig()))
}

func startDispatcherOn(t *testing.T, url string, cfg dispatcher.Config, e *transport.Endpoint) *front {
	t.Helper()

	d, err := dispatcher.New(cfg, e, connect(t, url), zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- d.Run(ctx) }()

	end := sync.OnceValue(func() error {
		stop()

		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			t.Error("the dispatcher does not end")

			return nil
		}
	})
	drain := func() {
		if err := end(); err != nil {
			t.Errorf("dispatcher: %v", err)
		}
	}
	t.Cleanup(func() { _ = end() })

	return &front{Dispatcher: d, addr: e.LocalAddr(), end: end, drain: drain}
}

// station is the far end of an association.
type station struct {
	t    *testing.T
	link *transport.Association

	mu       sync.Mutex
	receipts []receipt.Receipt
	replies  []transport.Message
}

// stations sets up associations to a dispatcher, all from one socket.
func stations(t *testing.T, f *front, n int) []*station {
	t.Helper()

	cfg := transport.DefaultConfig()
	cfg.AcceptBacklog = 0

	return stationsFrom(t, startEndpoint(t, cfg), f, n)
}

func stationsFrom(t *testing.T, e *transport.Endpoint, f *front, n int) []*station {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	all := make([]*station, n)

	for i := range all {
		link, err := e.Dial(ctx, f.addr, transport.Dial{LocalPort: uint16(1000 + i), RemotePort: 5000, Streams: 4})
		if err != nil {
			t.Fatal(err)
		}

		all[i] = &station{t: t, link: link}
	}

	return all
}

// listen takes what comes back until the association ends.
func (s *station) listen() {
	done := make(chan struct{})

	go func() {
		defer close(done)

		err := s.link.Receive(context.Background(), s.take)
		if _, ok := errors.AsType[*transport.CloseError](err); !ok {
			s.t.Errorf("receive: %v", err)
		}
	}()

	s.t.Cleanup(func() {
		s.link.Abort("the test is over")
		<-done
	})
}

func (s *station) take(m transport.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m.PPID != receipt.PPID {
		s.replies = append(s.replies, m)

		return
	}

	r, err := receipt.Decode(m.Payload)
	if err != nil {
		s.t.Error(err)

		return
	}

	s.receipts = append(s.receipts, r)
}

func (s *station) send(stream uint16, ppid uint32, payload string) {
	s.t.Helper()

	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()

	if err := s.link.Send(ctx, transport.Message{Stream: stream, PPID: ppid, Payload: []byte(payload)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *station) received() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return len(s.receipts)
}

// ordinals are those of a stream's receipts, sorted.
func (s *station) ordinals(stream uint16) []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()

	var all []uint64

	for _, r := range s.receipts {
		if r.Stream == stream {
			all = append(all, r.Ordinal)
		}
	}

	slices.Sort(all)

	return all
}
