package processor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
)

func TestMessagesAreCommittedAndAnswered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	got := d.ask(n.id, say(1, 0, "a"), say(2, 1, "b"), say(2, 1, "b"), say(9, 7, "c"), with(say(3, 2, "late"), func(e *bus.Envelope) { e.Expiry = 1 }))
	if want := []bus.Status{bus.Committed, bus.Committed, bus.Replayed, bus.Gap, bus.Expired}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if body := s.body(); body != "7/1=a 7/2=b " {
		t.Errorf("body %q", body)
	}
	st := n.Stats()
	if st.Frames != 1 || st.Envelopes != 5 || st.Committed != 2 || st.Replayed != 1 || st.Gap != 1 || st.Expired != 1 {
		t.Errorf("%+v", st)
	}
}

func TestRepliesComeAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.start("a", processor.NewHandlers(journal{})), s.start("b", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	for _, to := range []string{a.id, b.id, a.id} {
		d.send(to, say(1, 0, "?ping"))
		if x := d.next(); !x.HasReply || string(x.Reply.Payload) != "!ping" || x.Entry != 1 || x.Attempt != 1 {
			t.Errorf("%+v", x)
		}
	}
	if body := s.body(); body != "7/1=?ping " {
		t.Errorf("body %q", body)
	}
}

func TestAnswersGoToTheirDispatchers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(journal{}))
	dispatchers := []*dispatcher{s.dispatcher("d1", 11), s.dispatcher("d2", 12), s.dispatcher("d3", 13)}
	const each = 200
	for i := range uint64(each) {
		for k, d := range dispatchers {
			d.send(n.id, with(say(i+1, 0, "x"), func(e *bus.Envelope) {
				e.Epoch, e.Key, e.Entry = uint64(k+1), fmt.Append(nil, "key", i%5), i
			}))
		}
	}
	for k, d := range dispatchers {
		for range each {
			if a := d.next(); a.Status != bus.Committed {
				t.Fatalf("dispatcher %d: %+v", k, a)
			}
		}
	}
	if st := n.Stats(); st.Committed != each*3 || st.AnswerFailures != 0 {
		t.Errorf("%+v", st)
	}
}

// A frame may hold more than one message on the bus can answer.
func TestManyLargeRepliesAreSplit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	large := "?" + strings.Repeat("x", 200_000)
	const count = 12
	for i := range uint64(count) {
		d.send(n.id, with(say(i+1, 0, large), func(e *bus.Envelope) { e.Key = fmt.Append(nil, "key", i) }))
	}
	for range count {
		if a := d.next(); a.Status != bus.Committed || len(a.Reply.Payload) != len(large) {
			t.Errorf("%v with %d bytes", a.Status, len(a.Reply.Payload))
		}
	}
}

func TestGarbageIsCounted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	if err := d.conn.Publish(bus.Namespace("default").Node(n.id), "", []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	if got := d.ask(n.id, say(1, 0, "a")); got[0] != bus.Committed {
		t.Errorf("after garbage: %v", got)
	}
	if st := n.Stats(); st.BadFrames != 1 || st.Frames != 2 {
		t.Errorf("%+v", st)
	}
}

func TestPoisonIsSetAside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var out logged
	s.log = zerolog.New(&out)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	for i, want := range [][]bus.Status{
		{bus.Committed, bus.Unavailable, bus.Unavailable},
		{bus.Replayed, bus.Unavailable, bus.Unavailable},
		{bus.Replayed, bus.Quarantined, bus.Committed},
		{bus.Replayed, bus.Quarantined, bus.Replayed},
	} {
		if got := d.ask(n.id, say(1, 0, "a"), say(2, 1, "panic"), say(3, 2, "b")); !slices.Equal(got, want) {
			t.Errorf("attempt %d: got %v, want %v", i+1, got, want)
		}
	}
	if body := s.body(); body != "7/1=a 7/3=b " {
		t.Errorf("body %q", body)
	}
	if st := n.Stats(); st.HandlerFaults != 3 || st.Quarantined != 2 {
		t.Errorf("%+v", st)
	}
	if !strings.Contains(out.String(), `"level":"error"`) || !strings.Contains(out.String(), "poison") {
		t.Errorf("no alarm in %s", out.String())
	}
	// Another processor has not counted its failures, and need not: the record says it.
	b := s.start("b", processor.NewHandlers(journal{}))
	if got := d.ask(b.id, say(2, 0, "panic")); got[0] != bus.Quarantined {
		t.Errorf("elsewhere: %v", got)
	}
}

func TestEpochsAreGivenOverTheBus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	ask := func(floor uint64) bus.EpochReply {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		q := bus.EpochRequest{Floor: floor}
		return must[bus.EpochReply](t)(bus.DecodeEpochReply(must[[]byte](t)(d.conn.Request(ctx, bus.Namespace("default").Ask(n.id), q.Append(nil)))))
	}
	first := ask(0)
	second := ask(first.Epoch)
	if first.Error != "" || second.Epoch <= first.Epoch || second.RolledBack || second.RedisTime == 0 {
		t.Errorf("%+v, %+v", first, second)
	}
	const minute = 60_000_000 // the processor asks for epochs itself meanwhile
	if r := ask(second.Epoch + minute); !r.RolledBack || r.Epoch <= second.Epoch+minute {
		t.Errorf("rollback: %+v", r)
	}
	if n.Stats().Rollbacks != 1 {
		t.Error("the rollback is not counted")
	}
	if err := s.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	if r := ask(0); r.Error == "" || r.Epoch != 0 {
		t.Errorf("without Redis: %+v", r)
	}
}

func TestHeartbeatsTellTheTruth(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	beats := s.watch("a")
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.Capacity, cfg.DrainQuiet, cfg.Heartbeat = "a", 77, 20*time.Millisecond, time.Hour
	n := s.startWith(cfg, processor.NewHandlers(journal{}))
	ready := <-beats
	if ready.State != bus.Ready || ready.Capacity != 77 || ready.Sequence != 1 || ready.InFlight != 0 {
		t.Errorf("first: %+v", ready)
	}
	d := s.dispatcher("d", 1)
	for i := range uint64(50) {
		d.ask(n.id, say(i+1, 0, "x"))
	}
	h := bus.Hello{ID: "d", Incarnation: 1}
	if err := d.conn.Publish(bus.Namespace("default").Hello(), "", h.Append(nil)); err != nil {
		t.Fatal(err)
	}
	hello := <-beats // the next by itself would come in an hour
	if hello.Sequence != 2 || hello.Incarnation != ready.Incarnation || hello.ResponseMicros == 0 || hello.MessagesPerSecond == 0 {
		t.Errorf("after hello: %+v", hello)
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if b := <-beats; b.State != bus.Draining || b.Sequence != 3 {
		t.Errorf("%+v", b)
	}
	if b := <-beats; b.State != bus.Leaving || b.InFlight != 0 {
		t.Errorf("%+v", b)
	}
}

// While it drains a processor still answers what comes.
func TestDrainFinishesWhatComes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gate := make(chan struct{})
	entered := make(chan struct{}, 1)
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.DrainQuiet = "a", time.Second
	n := s.startWith(cfg, processor.NewHandlers(gated{entered: entered, gate: gate}))
	beats := s.watch("a")
	d := s.dispatcher("d", 1)
	d.send(n.id, say(1, 0, "a"))
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- n.stop() }()
	for b := range beats {
		if b.State == bus.Draining {
			break
		}
	}
	d.send(n.id, with(say(2, 1, "b"), func(e *bus.Envelope) { e.Entry = 2 }))
	close(gate)
	for range 2 {
		if a := d.next(); a.Status != bus.Committed {
			t.Errorf("%+v", a)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if body := s.body(); body != "7/1=a 7/2=b " {
		t.Errorf("body %q", body)
	}
}

// gated waits at its gate.
type gated struct {
	entered chan<- struct{}
	gate    <-chan struct{}
}

func (g gated) Apply(s processor.Session, m processor.Message) (processor.Result, error) {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.gate
	return journal{}.Apply(s, m)
}

func TestDrainEndsInTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gate, entered := make(chan struct{}), make(chan struct{}, 1)
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.DrainQuiet, cfg.DrainTimeout, cfg.Workers, cfg.Queue = "a", time.Millisecond, 30*time.Millisecond, 1, 1
	n := s.startWith(cfg, processor.NewHandlers(gated{entered: entered, gate: gate}))
	beats := s.watch("a")
	d := s.dispatcher("d", 1)
	for i := range uint64(6) { // one is worked on, one waits, one blocks the subscription
		d.send(n.id, say(i+1, 0, "x"))
	}
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- n.stop() }()
	for b := range beats {
		if b.State == bus.Leaving {
			break
		}
	}
	close(gate)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestRedisOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var out logged
	s.log = zerolog.New(&out)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	if got := d.ask(n.id, say(1, 0, "a")); got[0] != bus.Committed {
		t.Fatal(got)
	}
	if err := s.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := d.ask(n.id, say(2, 1, "b"), with(say(1, 0, "x"), func(e *bus.Envelope) { e.Key = []byte("new") })); got[0] != bus.Unavailable || got[1] != bus.Unavailable {
		t.Errorf("without Redis: %v", got)
	}
	for range 3 { // a batch that could not be loaded commits nothing: that is no sign of life
		d.ask(n.id, with(say(1, 0, "x"), func(e *bus.Envelope) { e.Key = []byte("new") }))
	}
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return d.ask(n.id, say(2, 1, "b"))[0].Done() })
	if body := s.body(); body != "7/1=a 7/2=b " {
		t.Errorf("body %q", body)
	}
	if st := n.Stats(); st.StoreFailures == 0 || st.Rollbacks != 0 {
		t.Errorf("%+v", st)
	}
	wait(t, func() bool { return strings.Contains(out.String(), "answers again") })
	if strings.Count(out.String(), "does not answer") != 1 || strings.Count(out.String(), "answers again") != 1 {
		t.Errorf("log %s", out.String())
	}
}

// A session that another processor wrote to is no rollback.
func TestAffinityIsOnlyAHint(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.start("a", processor.NewHandlers(journal{})), s.start("b", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	var want strings.Builder
	for i := range uint64(20) {
		to := a.id
		if i%3 == 1 {
			to = b.id
		}
		after := i // known to the other processor alone, at times
		if got := d.ask(to, say(i+1, after, "x")); got[0] != bus.Committed {
			t.Fatalf("message %d: %v", i+1, got)
		}
		fmt.Fprintf(&want, "7/%d=x ", i+1)
	}
	if body := s.body(); body != want.String() {
		t.Errorf("body %q", body)
	}
	st := a.Stats()
	if st.Conflicts+st.Loads < 2 || st.Rollbacks+b.Stats().Rollbacks != 0 {
		t.Errorf("%+v", st)
	}
}

func TestLedgerOverTheWholeWay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(ledger.Handler{}))
	d := s.dispatcher("d", 1)
	var want ledger.Ledger
	var frame []bus.Envelope
	for i := range uint64(8) {
		e := with(say(i+1, i, fmt.Sprint("m", i)), func(e *bus.Envelope) { e.Stream, e.Unordered, e.PPID = uint16(i%2), i%3 == 0, 46 })
		frame = append(frame, e)
		want.Add(processor.Message{Epoch: 7, Stream: e.Stream, Unordered: e.Unordered, PPID: e.PPID, Payload: e.Payload, Node: "a"})
	}
	d.ask(n.id, frame...)
	got := must[*ledger.Ledger](t)(ledger.Decode([]byte(s.body())))
	if got.Count != 8 || got.PPID != 46 || !slices.Equal(got.Chains, want.Chains) || got.First == 0 || got.First > got.Last {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	t.Parallel()
	cfg := processor.DefaultConfig()
	cfg.ID = "node-1"
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	err := processor.Config{DrainQuiet: -1, DrainTimeout: -2, SessionTTL: -1, HintSessions: -1}.Validate()
	for _, key := range []string{
		"id:", "namespace:", "capacity:", "workers:", "batch:", "queue:", "hintSessions:", "sessionTTL:", "longestExpiry:", "strikes:",
		"heartbeat:", "drainQuiet:", "drainTimeout:",
	} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	if _, err := processor.New(cfg, nil, nil, processor.Handlers{}, zerolog.Nop()); err == nil {
		t.Error("a processor without a handler was made")
	}
}
