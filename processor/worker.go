package processor

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"skyring/protocol/bus"
	"skyring/statestore"
)

// attempts bounds how often one batch is decided anew because others keep writing the same sessions.
const attempts = 16

// skew is how far clocks of processors may be from the store's, at most.
const skew = 10 * time.Second

// strikeMemory is how many failing messages a worker remembers.
const strikeMemory = 1024

// job is what a frame holds for one worker.
type job struct {
	reply      string // subject for the answers
	dispatcher uint64 // its incarnation
	arrived    time.Time
	envelopes  []*bus.Envelope
}

// worker gives messages their effect. A session belongs to one worker, so its messages stay in order.
type worker struct {
	*Processor // what all workers share; safe to use

	queue  chan job      // full: the subscription waits
	events chan *event   // full: the event is dropped, see Processor.tell
	doubts chan struct{} // the store lost writes: what is known of it is compared with what it has; full: that is about to begin

	// owned by run
	hints    hints
	doubtful []string // sessions that are yet to be compared
	strikes  *simplelru.LRU[failureID, int]
	progress *simplelru.LRU[string, progress]
	looked   *simplelru.LRU[string, int64] // when it was looked whether peers of a session are there, us
}

func newWorker(p *Processor) (*worker, error) {
	h, err := newHints(max(1, p.cfg.HintSessions/p.cfg.Workers))
	if err != nil {
		return nil, err
	}
	strikes, err := simplelru.NewLRU[failureID, int](strikeMemory, nil)
	if err != nil {
		return nil, err
	}
	driven, err := simplelru.NewLRU[string, progress](progressMemory, nil)
	if err != nil {
		return nil, err
	}
	looked, err := simplelru.NewLRU[string, int64](strikeMemory, nil)
	if err != nil {
		return nil, err
	}
	return &worker{
		Processor: p, queue: make(chan job, p.cfg.Queue), events: make(chan *event, p.cfg.EventQueue), doubts: make(chan struct{}, 1),
		hints: h, strikes: strikes, progress: driven, looked: looked,
	}, nil
}

// run works until stop is closed and nothing is queued.
func (w *worker) run(ctx context.Context, stop <-chan struct{}) {
	for {
		if jobs, events := w.gather(); len(jobs)+len(events)+len(w.doubtful) > 0 {
			w.work(ctx, jobs, append(events, w.doubt()...))
			continue
		}
		select {
		case j := <-w.queue:
			jobs, events := w.gather(j)
			w.work(ctx, jobs, events)
		case ev := <-w.events:
			jobs, events := w.gather()
			w.work(ctx, jobs, append([]*event{ev}, events...))
		case <-w.doubts:
			w.doubtful = w.hints.keys()
		case <-stop:
			return
		}
	}
}

// gather takes what else is queued, without waiting.
func (w *worker) gather(first ...job) (jobs []job, events []*event) {
	jobs = first
	n := 0
	for _, j := range jobs {
		n += len(j.envelopes)
	}
	for more := true; more && n < w.cfg.Batch; {
		select {
		case j := <-w.queue:
			jobs = append(jobs, j)
			n += len(j.envelopes)
		default:
			more = false
		}
	}
	for len(events) < w.cfg.Batch {
		select {
		case ev := <-w.events:
			events = append(events, ev)
		default:
			return jobs, events
		}
	}
	return jobs, events
}

// group is the messages of one session in a batch.
type group struct {
	key   string
	input input
	hint  hint
	from  []int // which job of the batch each envelope came from
	out   output

	decided bool  // the answers of out hold
	written int64 // when out.record was, us, Redis time; 0: it was not
}

// work gives a batch its effect, answers it, and then lets it have its consequences.
func (w *worker) work(ctx context.Context, jobs []job, events []*event) {
	defer w.queued.Add(-int64(len(events)))
	answers := newAnswers(w.Processor, jobs)
	if w.crash != nil && w.crash(beforeBatch, nil) {
		answers.send()
		return
	}
	groups := w.group(jobs, events)
	pending, unknown := groups, []*group(nil)
	for _, g := range groups {
		if g.hint.record == nil || g.doubted() {
			unknown = append(unknown, g)
		}
	}
	w.load(ctx, unknown)
	for try := 0; len(pending) > 0; try++ {
		if try == attempts {
			for _, g := range pending {
				w.contended.Add(uint64(len(g.from)))
				g.answerAll(bus.Unavailable)
			}
			break
		}
		pending = w.round(ctx, pending)
	}
	if w.crash != nil && w.crash(afterCommit, nil) {
		answers.send()
		return
	}
	for _, g := range groups {
		answers.add(g)
	}
	answers.send()
	w.follow(groups, events)
}

// group sorts a batch by session.
func (w *worker) group(jobs []job, events []*event) []*group {
	byKey := make(map[string]*group, len(jobs)+len(events))
	var groups []*group
	of := func(key []byte) *group {
		g := byKey[string(key)]
		if g == nil {
			g = &group{key: string(key), input: input{key: key, condemned: w.condemned}}
			g.hint, _ = w.hints.find(g.key)
			g.input.record, g.input.forgot = g.hint.record, g.hint.forgot
			byKey[g.key] = g
			groups = append(groups, g)
		}
		return g
	}
	for from, j := range jobs {
		for _, env := range j.envelopes {
			g := of(env.Key)
			g.input.envelopes = append(g.input.envelopes, env)
			g.from = append(g.from, from)
		}
	}
	for _, g := range groups {
		g.input.source = func(i int) Source { return w.source(jobs[g.from[i]]) }
	}
	for _, ev := range events {
		if ev.kind != swept {
			g := of(ev.key)
			g.input.events = append(g.input.events, ev)
		}
	}
	return groups
}

// source tells which dispatcher a job is from.
func (w *worker) source(j job) Source {
	id, _ := w.cfg.Namespace.DispatcherID(j.reply)
	return Source{Dispatcher: id, Incarnation: j.dispatcher}
}

// round decides pending groups once and returns those that must be decided again. The others have their answers.
func (w *worker) round(ctx context.Context, pending []*group) []*group {
	commits, committed := make([]statestore.Commit, 0, len(pending)), make([]*group, 0, len(pending))
	var reread, again []*group
	for _, g := range pending {
		if g.decided { // while loading
			continue
		}
		g.input.now = max(g.input.now, w.redisNow())
		switch g.out = w.engine.run(g.input); {
		case g.out.reread:
			reread = append(reread, g)
		case g.out.record == nil:
			w.decide(g)
		default:
			committed = append(committed, g)
			commits = append(commits, w.commit(g))
		}
	}
	outcomes, err := w.store.Commit(ctx, commits)
	if len(commits) > 0 { // without any, nothing was asked
		w.reachable(err)
	}
	for i, g := range committed {
		if !w.settle(g, outcomes[i]) {
			again = append(again, g)
		}
	}
	w.load(ctx, reread)
	return append(again, reread...)
}

// commit is how a group's record is written.
func (w *worker) commit(g *group) statestore.Commit {
	r := g.out.record
	c := statestore.Commit{
		Key: g.input.key, Expect: g.input.record.Stamp(), Record: r, Expiry: g.out.expiry, TTL: w.ttl(r), CDRs: g.out.cdrs, Due: r.Due(),
		Indexed: acts(r) || acts(g.input.record),
	}
	c.Keep = c.TTL == 0
	if r.Pending() {
		c.Pending = g.input.now + w.cfg.SweepAge.Microseconds()
	}
	return c
}

// acts tells that a record is, or may be, in the indexes of what acts on its own.
func acts(r *statestore.Record) bool { return r != nil && (len(r.Timers) > 0 || len(r.Outbox) > 0) }

// ttl is how long a record is kept, 0 for ever. What is over stays until nothing can be committed any more that knew it alive.
func (w *worker) ttl(r *statestore.Record) time.Duration {
	switch {
	case r.Life == statestore.Kept, len(r.Timers) > 0, r.Pending():
		return 0
	case r.Life == statestore.Ended:
		return w.cfg.LongestExpiry + skew
	default:
		return w.cfg.SessionTTL
	}
}

// settle takes a commit's outcome; false: the group must be decided again.
func (w *worker) settle(g *group, o statestore.Outcome) (done bool) {
	g.input.now = max(g.input.now, o.RedisTime)
	switch o.Result {
	case statestore.Written:
		w.commits.Add(1)
		w.hints.written(g.key, g.out.record, o.RedisTime, w.ttl(g.out.record))
		g.written = o.RedisTime
		w.decide(g)
		return true
	case statestore.Conflict, statestore.Absent:
		w.conflicts.Add(1)
		w.found(g, o.Current)
		return false
	case statestore.Expired: // at least one message is, now that the time is known
		return false
	case statestore.Unreadable:
		w.unreadableRecord(g, o.Err)
		return true
	case statestore.Unknown, statestore.Refused:
	}
	w.storeFailed(g, o.Err)
	return true
}

// found takes the record that the store has.
func (w *worker) found(g *group, current *statestore.Record) {
	forgot := g.hint.forgot
	if g.hint.lost(current, g.input.now) {
		w.rolledBack(g, current)
		if forgot == nil || forgot.Version < g.hint.record.Version {
			forgot = g.hint.record
		}
	}
	g.hint = w.hints.seen(g.key, current, forgot)
	g.input.record, g.input.forgot, g.input.known = current, g.hint.forgot, fromStore
}

// load reads the records of groups.
func (w *worker) load(ctx context.Context, groups []*group) {
	if len(groups) == 0 {
		return
	}
	keys := make([][]byte, len(groups))
	for i, g := range groups {
		keys[i] = g.input.key
	}
	loaded, err := w.store.Load(ctx, keys)
	w.reachable(err)
	if err != nil {
		for _, g := range groups {
			w.storeFailed(g, err)
		}
		return
	}
	w.loads.Add(uint64(len(groups)))
	for i, g := range groups {
		if loaded[i].Err != nil {
			w.unreadableRecord(g, loaded[i].Err)
			continue
		}
		g.input.now = max(g.input.now, w.redisNow())
		w.found(g, loaded[i].Record)
	}
}

// storeFailed answers a group whose effect is not known or did not come about. The hint stays: it still tells what the store must have at least,
// and where the store has more, the next commit finds a conflict.
func (w *worker) storeFailed(g *group, err error) {
	w.storeFailures.Add(1)
	g.answerAll(bus.Unavailable)
	w.log.Debug().Err(err).Str("session", format(g.input.key)).Msg("session could not be written")
}

// unreadableRecord leaves a newer record to a newer program, to which the dispatcher may send it; a damaged one is nobody's.
func (w *worker) unreadableRecord(g *group, err error) {
	w.unreadable.Add(1)
	w.hints.drop(g.key)
	status := bus.Unavailable
	if errors.Is(err, statestore.ErrCorrupt) {
		status = bus.Quarantined
	}
	g.answerAll(status)
	w.sometimes.Do(func() {
		w.log.Error().Err(err).Str("session", format(g.input.key)).Stringer("answer", status).Msg("record of a session can not be read")
	})
}

// answerAll gives every message of a group the same answer.
func (g *group) answerAll(status bus.Status) {
	g.out, g.decided = output{answers: make([]bus.Answer, len(g.input.envelopes))}, true
	for i := range g.out.answers {
		env := g.input.envelopes[i]
		g.out.answers[i] = bus.Answer{Entry: env.Entry, Attempt: env.Attempt, Status: status}
	}
}
