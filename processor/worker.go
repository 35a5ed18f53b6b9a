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

	queue chan job // full: the subscription waits

	// owned by run
	hints   hints
	strikes *simplelru.LRU[messageID, int]
}

// messageID names a message for ever.
type messageID struct{ epoch, sequence uint64 }

func newWorker(p *Processor) (*worker, error) {
	h, err := newHints(max(1, p.cfg.HintSessions/p.cfg.Workers), p.cfg.SessionTTL)
	if err != nil {
		return nil, err
	}
	strikes, err := simplelru.NewLRU[messageID, int](strikeMemory, nil)
	if err != nil {
		return nil, err
	}
	return &worker{Processor: p, queue: make(chan job, p.cfg.Queue), hints: h, strikes: strikes}, nil
}

// run works until stop is closed and the queue is empty.
func (w *worker) run(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case j := <-w.queue:
			w.work(ctx, w.gather(j))
			continue
		default:
		}
		select {
		case j := <-w.queue:
			w.work(ctx, w.gather(j))
		case <-stop:
			return
		}
	}
}

// gather takes what else is queued, without waiting.
func (w *worker) gather(first job) []job {
	jobs := []job{first}
	for n := len(first.envelopes); n < w.cfg.Batch; {
		select {
		case j := <-w.queue:
			jobs = append(jobs, j)
			n += len(j.envelopes)
		default:
			return jobs
		}
	}
	return jobs
}

// group is the messages of one session in a batch.
type group struct {
	key   string
	input input
	hint  hint
	from  []int // which job of the batch each envelope came from
	out   output

	decided bool // the answers of out hold
}

// work gives a batch its effect and answers it.
func (w *worker) work(ctx context.Context, jobs []job) {
	groups := w.group(jobs)
	answers := newAnswers(w.Processor, jobs)
	pending, unknown := groups, []*group(nil)
	for _, g := range groups {
		if g.hint.record == nil {
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
	for _, g := range groups {
		answers.add(g)
	}
	answers.send()
}

// group sorts a batch by session.
func (w *worker) group(jobs []job) []*group {
	byKey := make(map[string]*group, len(jobs[0].envelopes))
	var groups []*group
	for from, j := range jobs {
		for _, env := range j.envelopes {
			g := byKey[string(env.Key)]
			if g == nil {
				g = &group{key: string(env.Key), input: input{key: env.Key, condemned: w.condemned}}
				g.hint, _ = w.hints.find(g.key)
				g.input.record = g.hint.record
				byKey[g.key] = g
				groups = append(groups, g)
			}
			g.input.envelopes = append(g.input.envelopes, env)
			g.from = append(g.from, from)
		}
	}
	return groups
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
			commits = append(commits, statestore.Commit{
				Key: g.input.key, Expect: g.input.record.Stamp(), Record: g.out.record, Expiry: g.out.expiry, TTL: w.cfg.SessionTTL,
			})
		}
	}
	outcomes, err := w.store.Commit(ctx, commits)
	w.reachable(err)
	for i, g := range committed {
		if !w.settle(g, outcomes[i]) {
			again = append(again, g)
		}
	}
	w.load(ctx, reread)
	return append(again, reread...)
}

// settle takes a commit's outcome; false: the group must be decided again.
func (w *worker) settle(g *group, o statestore.Outcome) (done bool) {
	g.input.now = max(g.input.now, o.RedisTime)
	switch o.Result {
	case statestore.Written:
		w.commits.Add(1)
		w.hints.written(g.key, g.out.record, o.RedisTime)
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
	if g.hint.lost(current, g.input.now) {
		w.rolledBack(g, current)
	}
	g.hint = w.hints.seen(g.key, current)
	g.input.record, g.input.known = current, fromStore
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
