package processor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/statestore"
	"skyring/testbed/servers"
)

// sleeper gives a message to one processor, which sleeps on it; the dispatcher gives it, and more after it, to another one. Then the first wakes up.
// It returns how the sleeper's message was answered and how often it took effect.
func sleeper(t *testing.T, expiry time.Duration, change func(*processor.Processor), meanwhile func(s *site)) (bus.Status, int) {
	t.Helper()
	s := newSite(t)
	asleep, awake := s.start("asleep", processor.NewHandlers(journal{}), change), s.start("awake", processor.NewHandlers(journal{}), change)
	d := s.dispatcher("d", 1)
	first := say(1, 0, "first")
	first.Expiry = time.Now().Add(expiry).UnixMicro()
	for i := range uint64(3 * statestore.RingSize) {
		e := say(i+1, 0, "later")
		if i == 0 {
			e = first
		}
		if got := d.ask(awake.id, e); got[0] != bus.Committed {
			t.Fatalf("message %d: %v", i+1, got)
		}
	}
	before := s.body()
	meanwhile(s)
	got := d.ask(asleep.id, first)[0]
	after := s.bodyOrNone("key")
	return got, strings.Count(before, "first") + strings.Count(strings.TrimPrefix(after, before), "first")
}

func (s *site) bodyOrNone(key string) string {
	s.tb.Helper()
	loaded := must[[]statestore.Loaded](s.tb)(s.store().Load(s.tb.Context(), [][]byte{[]byte(key)}))
	if loaded[0].Record == nil {
		return ""
	}
	return string(loaded[0].Record.Body)
}

// R1: the ring alone does not tell a processor that wakes up late that its message took effect; the mark does.
func TestMarkProtectsFromSleepers(t *testing.T) {
	t.Parallel()
	nothing, long := func(*site) {}, 30*time.Second
	t.Run("with marks", func(t *testing.T) {
		t.Parallel()
		if got, effects := sleeper(t, long, func(*processor.Processor) {}, nothing); got != bus.Stale || effects != 1 {
			t.Errorf("answered %v, took effect %d times", got, effects)
		}
	})
	t.Run("without marks", func(t *testing.T) {
		t.Parallel()
		got, effects := sleeper(t, long, func(p *processor.Processor) { p.Without(processor.MarkRule) }, nothing)
		if got != bus.Committed || effects != 2 {
			t.Errorf("answered %v, took effect %d times: something else protects, so this test shows nothing of marks", got, effects)
		}
	})
}

// R2: when the record is gone, its marks are gone too; then the expiry keeps a message that took effect from coming again.
func TestExpiryProtectsWhenTheRecordIsGone(t *testing.T) {
	t.Parallel()
	const short = 2 * time.Second
	gone := func(s *site) {
		c := s.client()
		name := s.redisName("key")
		must[int64](s.tb)(c.Del(s.tb.Context(), name).Result())
		deadline := time.Now().Add(short).UnixMicro()
		wait(s.tb, func() bool { return must[int64](s.tb)(s.store().Time(s.tb.Context())) > deadline })
	}
	t.Run("with expiry", func(t *testing.T) {
		t.Parallel()
		if got, effects := sleeper(t, short, func(*processor.Processor) {}, gone); got != bus.Expired || effects != 1 {
			t.Errorf("answered %v, took effect %d times", got, effects)
		}
	})
	t.Run("without expiry", func(t *testing.T) {
		t.Parallel()
		got, effects := sleeper(t, short, func(p *processor.Processor) { p.Without(processor.ExpiryRule) }, gone)
		if got != bus.Committed || effects != 2 {
			t.Errorf("answered %v, took effect %d times: something else protects, so this test shows nothing of expiry", got, effects)
		}
	})
}

// The processor's clock is wrong and its handler slow: only the script, by the store's clock, sees that the message is too late.
func TestExpiryIsJudgedInTheCommit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	store := s.store()
	var deadline int64
	n := s.start("a", processor.NewHandlers(slow{until: func() {
		wait(t, func() bool { return must[int64](t)(store.Time(t.Context())) > deadline })
	}}))
	d := s.dispatcher("d", 1)
	e := say(1, 0, "a")
	e.Expiry = time.Now().Add(time.Second).UnixMicro()
	deadline = e.Expiry
	if got := d.ask(n.id, e); got[0] != bus.Expired {
		t.Errorf("got %v", got)
	}
	if body := s.bodyOrNone("key"); body != "" {
		t.Errorf("body %q", body)
	}
}

// slow takes its time.
type slow struct{ until func() }

func (h slow) Apply(s processor.Session, m processor.Message) (processor.Result, error) {
	h.until()
	return journal{}.Apply(s, m)
}

// chaos drives two processors as a dispatcher would that loses answers, repeats itself and changes its mind.
type chaos struct {
	t       failer
	d       *dispatcher
	nodes   [2]string
	random  *rand.Rand
	round   uint64 // makes sessions and associations of one run its own
	streams []*stream
	sent    []frame
	entry   uint64
	open    map[uint64]*item // by entry
	outages bool             // the store may be away
}

// failer is a test, or a property.
type failer interface {
	Fatalf(format string, args ...any)
}

// stream is what one association sends to one session.
type stream struct {
	key   string
	epoch uint64
	items []*item
}

type item struct {
	sequence uint64
	done     bool
}

type frame struct {
	to        string
	envelopes []bus.Envelope
}

// send sends up to a window of a stream's unanswered messages, in order.
func (c *chaos) send(st *stream, window int, l loss) {
	f := frame{to: c.nodes[c.random.IntN(2)]}
	after := uint64(0)
	for _, it := range st.items {
		if it.done {
			continue
		}
		if len(f.envelopes) == window {
			break
		}
		c.entry++
		c.open[c.entry] = it
		e := say(it.sequence, after, "x")
		e.Entry, e.Epoch, e.Key = c.entry, st.epoch, []byte(st.key)
		f.envelopes = append(f.envelopes, e)
		after = it.sequence
	}
	if len(f.envelopes) > 0 {
		c.deliver(f, l)
		c.sent = append(c.sent, f)
	}
}

// loss of messages on the way, one in so many.
type loss int

const (
	lossless loss = 0
	lossy    loss = 5
)

// deliver sends a frame, or, where some of it is lost, what is left of it one by one.
func (c *chaos) deliver(f frame, l loss) {
	if l == lossless {
		c.d.send(f.to, f.envelopes...)
		return
	}
	for _, e := range f.envelopes {
		if c.random.IntN(int(l)) != 0 {
			c.d.send(f.to, e)
		}
	}
}

// take notes an answer, unless it is lost.
func (c *chaos) take(a bus.Answer, l loss) {
	it := c.open[a.Entry]
	if it == nil {
		return // of a run before
	}
	if a.Status == bus.Expired || a.Status == bus.Unavailable && !c.outages {
		c.t.Fatalf("answered %v with everything at hand", a.Status)
	}
	if a.Status.Done() && (l == lossless || c.random.IntN(int(l)) != 0) {
		it.done = true
	}
}

func (c *chaos) drain(l loss) {
	for {
		select {
		case a := <-c.d.answers:
			c.take(a, l)
		default:
			return
		}
	}
}

func (c *chaos) step() {
	switch c.random.IntN(4) {
	case 0: // an old frame comes late, at whichever processor
		if len(c.sent) > 0 {
			f := c.sent[c.random.IntN(len(c.sent))]
			c.d.send(c.nodes[c.random.IntN(2)], f.envelopes...)
		}
	case 1: // an answer is waited for
		if len(c.d.answers) > 0 {
			c.take(<-c.d.answers, lossy)
		}
	default:
		c.send(c.streams[c.random.IntN(len(c.streams))], 1+c.random.IntN(statestore.RingSize), loss(c.random.IntN(2))*lossy)
	}
	c.drain(lossy)
}

// finish sends until everything is answered.
func (c *chaos) finish() {
	for range 1000 {
		left := 0
		for _, st := range c.streams {
			for _, it := range st.items {
				if !it.done {
					left++
				}
			}
		}
		if left == 0 {
			return
		}
		last := c.entry
		for _, st := range c.streams {
			c.send(st, statestore.RingSize, lossless)
		}
		for missing := c.entry - last; missing > 0; {
			a := c.d.next()
			if a.Entry > last {
				missing--
			}
			c.take(a, lossless)
		}
	}
	c.t.Fatalf("never done")
}

// Whatever a dispatcher repeats, reorders and loses, and whichever of two processors gets it: every message takes effect once and in order.
func TestEveryMessageTakesEffectOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.start("a", processor.NewHandlers(journal{})), s.start("b", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	round := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		round++
		sessions := rapid.IntRange(1, 3).Draw(t, "sessions")
		associations := rapid.IntRange(1, 2).Draw(t, "associations")
		messages := rapid.IntRange(1, 40).Draw(t, "messages of each association")
		steps := rapid.IntRange(0, 80).Draw(t, "steps")
		c := &chaos{
			t: t, d: d, nodes: [2]string{a.id, b.id}, round: round, open: map[uint64]*item{}, entry: round << 32,
			random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
		}
		c.associate(sessions, associations, messages)
		for range steps {
			c.step()
		}
		c.finish()
		c.verify(s)
	})
}

// The same while Redis is killed and started again, with every answered write on its disk.
func TestNothingIsLostOrDoubledWhenRedisIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.start("a", processor.NewHandlers(journal{})), s.start("b", processor.NewHandlers(journal{}))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &chaos{
		t: t, d: s.dispatcher("d", 1), nodes: [2]string{a.id, b.id}, open: map[uint64]*item{}, outages: true,
		random: rand.New(rand.NewPCG(seed, 0)),
	}
	c.associate(4, 2, 400)
	for range 4 {
		for range 60 {
			c.step()
		}
		if err := s.redis.Kill(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			c.step()
		}
		if err := s.redis.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.finish()
	c.verify(s)
	if st := a.Stats(); st.Rollbacks != 0 || st.StoreFailures == 0 {
		t.Errorf("%+v", st)
	}
}

// The stand-in does for a trial.
func TestInMemoryStandIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := must[*servers.Memory](t)(servers.StartMemory(t.Context(), servers.MemoryConfig{}))
	t.Cleanup(m.Stop)
	s.url = m.URL()
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	got := d.ask(n.id, say(1, 0, "a"), say(2, 1, "b"), say(4, 3, "c"), with(say(3, 2, "late"), func(e *bus.Envelope) { e.Expiry = 1 }))
	if want := []bus.Status{bus.Committed, bus.Committed, bus.Gap, bus.Expired}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if body := s.body(); body != "7/1=a 7/2=b " {
		t.Errorf("body %q", body)
	}
}

// associate gives each association messages for sessions at random.
func (c *chaos) associate(sessions, associations, messages int) {
	for a := range associations {
		own := make([]*stream, sessions)
		for k := range own {
			own[k] = &stream{key: fmt.Sprintf("r%d-s%d", c.round, k), epoch: c.round*10 + uint64(a)}
		}
		for i := range messages {
			st := own[c.random.IntN(sessions)]
			st.items = append(st.items, &item{sequence: uint64(i + 1)})
		}
		c.streams = append(c.streams, own...)
	}
}

func (c *chaos) verify(s *site) {
	s.tb.Helper()
	for _, st := range c.streams {
		var want, got strings.Builder
		for _, it := range st.items {
			fmt.Fprintf(&want, "%d/%d=x ", st.epoch, it.sequence)
		}
		for entry := range strings.SplitAfterSeq(s.bodyOrNone(st.key), " ") {
			if strings.HasPrefix(entry, fmt.Sprintf("%d/", st.epoch)) {
				got.WriteString(entry)
			}
		}
		if got.String() != want.String() {
			c.t.Fatalf("session %s, association %d\ngot  %s\nwant %s", st.key, st.epoch, &got, &want)
		}
	}
}
