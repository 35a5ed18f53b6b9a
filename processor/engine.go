package processor

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/statestore"
)

// engine decides what messages and events do to a session. It is a value without state: same arguments, same decisions.
type engine struct {
	handlers Handlers
	node     string
	longest  int64 // us; nothing may be committed later than this after it was judged
	largest  int   // bytes of a payload that the bus carries; 0: any
	without  rule  // for tests alone: a rule that is switched off, to show what it protects from
}

// rule is one that keeps an effect from coming twice, or not at all.
type rule uint8

const (
	noRule         rule = iota
	markRule            // at or under the mark of an association nothing is applied
	expiryRule          // past its expiry nothing is applied
	peerMarkRule        // of another session's notifications only the one after the mark is applied
	peerGoneRule        // a peer's mark is kept as long as the peer's record is there
	generationRule      // a timer fires only in its generation
	outboxRule          // an outbox is looked after until it is empty
	rollbackRule        // what is older than what was seen is alarmed
	resyncRule          // what the store lost is asked of whom it is about
	poisonRule          // what fails time and again is set aside
)

// knowledge tells how much a record is worth.
type knowledge uint8

const (
	fromHint  knowledge = iota // it was the last one seen; others may have written since
	fromStore                  // it was just read
)

// input is one session and what it got, in order.
type input struct {
	key       []byte
	record    *statestore.Record // nil: there is none
	known     knowledge
	forgot    *statestore.Record // what the session was before the store lost writes of it; nil: it did not
	now       int64              // us, Redis time as well as it is known
	envelopes []*bus.Envelope
	source    func(i int) Source // of an envelope
	events    []*event           // after the envelopes
	condemned func(failureID) bool
}

// output is what shall become of them. Answers hold only once the record, if any, is committed.
type output struct {
	reread  bool               // the record must be read to decide; everything else is void
	record  *statestore.Record // to be written in place of the input's; nil: there is nothing to write
	expiry  int64              // us, Redis time: the earliest one of what is in record
	cdrs    [][]byte           // to be written with record
	answers []bus.Answer       // one per envelope
	acks    []ack              // what notifications are acknowledged with
	faults  []fault
	lost    []string // in which way the store turned out to have lost writes
	dropped int      // messages for the station that fell out of the outbox
}

// failureID names a message, a notification or a timer for ever.
type failureID struct {
	key             string // what the numbers are of; empty: an association
	epoch, sequence uint64
}

// fault is a failure of the handler.
type fault struct {
	id    failureID
	input InputKind
	ppid  uint32 // of a message
	final bool   // it was set aside
	err   error
}

// run judges the messages and events one after another, each on what the ones before left.
func (e engine) run(in input) output {
	t := turn{engine: e, in: in, out: output{expiry: math.MaxInt64, answers: make([]bus.Answer, 0, len(in.envelopes))}}
	t.resync()
	for i, env := range in.envelopes {
		a := t.judge(i, env)
		if t.out.reread {
			return output{reread: true}
		}
		a.Entry, a.Attempt = env.Entry, env.Attempt
		t.out.answers = append(t.out.answers, a)
	}
	for _, ev := range in.events {
		t.happen(ev)
		if t.out.reread {
			return output{reread: true}
		}
	}
	if t.out.record != nil {
		e.forget(t.out.record, in.now)
	}
	return t.out
}

// turn is one run of the engine.
type turn struct {
	engine

	in     input
	out    output
	held   []failureID // of whose source something failed: what follows it must wait
	passed []failureID // the last one of each source that needs no effect, over its mark
}

func (t *turn) record() *statestore.Record {
	if t.out.record != nil {
		return t.out.record
	}
	return t.in.record
}

// change gives the record that will be committed.
func (t *turn) change(expiry int64) *statestore.Record {
	if t.out.record == nil {
		t.out.record = t.in.record.Clone()
	}
	if t.without != expiryRule {
		t.out.expiry = min(t.out.expiry, expiry)
	}
	return t.out.record
}

// needsStore makes the run void when the record is but a hint, which a decision of this kind must not rest on.
func (t *turn) needsStore() bool {
	if t.in.known == fromHint {
		t.out.reread = true
	}
	return t.out.reread
}

// expired tells that it is too late for something, or that its expiry is out of bounds.
func (t *turn) expired(expiry int64) bool {
	return t.without != expiryRule && (expiry <= t.in.now || expiry > t.in.now+t.longest)
}

// pass notes what needs no effect, so that what names it as its predecessor is in order.
func (t *turn) pass(id failureID) {
	t.passed = append(slices.DeleteFunc(t.passed, func(p failureID) bool { return p.key == id.key && p.epoch == id.epoch }), id)
}

// passedBy is the mark, or what passed over it.
func (t *turn) passedBy(id failureID, mark uint64) uint64 {
	for _, p := range t.passed {
		if p.key == id.key && p.epoch == id.epoch {
			mark = max(mark, p.sequence)
		}
	}
	return mark
}

// holds tells that something before it failed.
func (t *turn) holds(id failureID) bool {
	return slices.ContainsFunc(t.held, func(h failureID) bool { return h.key == id.key && h.epoch == id.epoch })
}

func (t *turn) judge(i int, env *bus.Envelope) bus.Answer {
	source := t.record().Source(env.Epoch)
	mark := uint64(0)
	if source != nil {
		mark = source.Mark
	}
	if env.Sequence <= mark {
		if tx, found := source.Find(env.Sequence); found {
			return replay(tx)
		}
		if t.without != markRule {
			return bus.Answer{Status: bus.Stale}
		}
	}
	id := failureID{epoch: env.Epoch, sequence: env.Sequence}
	switch {
	case t.expired(env.Expiry):
		return bus.Answer{Status: bus.Expired}
	case env.After <= t.passedBy(id, mark):
		return t.message(i, env, id)
	case t.in.known == fromHint:
		t.out.reread = true
		return bus.Answer{}
	case t.holds(id):
		return bus.Answer{Status: bus.Unavailable}
	default:
		return bus.Answer{Status: bus.Gap}
	}
}

// replay answers a message that took effect before.
func replay(tx statestore.Transaction) bus.Answer {
	if tx.Effect == statestore.Quarantined {
		return bus.Answer{Status: bus.Quarantined}
	}
	return bus.Answer{Status: bus.Replayed, HasReply: tx.HasReply, Reply: bus.Reply(tx.Reply)}
}

// apply runs the handler of the session on an input, and checks what it gives.
func (t *turn) apply(in Input) (Result, error) {
	in.Now, in.Node = t.in.now, t.node
	if handler := t.handlers.unreadable(t.in.key, in); handler != nil {
		r, err := apply(handler, Session{Key: t.in.key}, in)
		r.Discard = true
		if err == nil {
			err = t.check(in.Kind, &r)
		}
		return r, err
	}
	current, owner := t.record(), t.handlers.owner(t.in.key, in.Message.PPID)
	s := Session{Key: t.in.key}
	if current != nil {
		s.Body, s.Leg = current.Body, current.Leg
		if current.Handler != 0 || owner < kindOwner {
			owner = current.Handler
		}
	}
	if current == nil && in.Kind == FromSession && owner < kindOwner {
		return Result{}, fmt.Errorf("%w for notifications of kind %v", errNoHandler, key.KindOf(t.in.key))
	}
	handler, err := t.handlers.find(owner)
	if err != nil {
		return Result{}, err
	}
	r, err := apply(handler, s, in)
	if err == nil {
		err = t.check(in.Kind, &r)
	}
	return r, err
}

// message gives a message its effect.
func (t *turn) message(i int, env *bus.Envelope, id failureID) bus.Answer {
	in := Input{Kind: FromAssociation, Message: Message{
		Epoch: env.Epoch, Sequence: env.Sequence, Stream: env.Stream, Unordered: env.Unordered,
		PPID: env.PPID, Payload: env.Payload, Now: t.in.now, Node: t.node,
	}}
	if t.in.source != nil {
		in.Source = t.in.source(i)
	}
	in.Source.Epoch = env.Epoch
	r, err := t.apply(in)
	switch {
	case err != nil && !t.setAside(fault{id: id, input: FromAssociation, ppid: env.PPID, err: err}):
		return bus.Answer{Status: bus.Unavailable}
	case err != nil:
		t.own(t.change(env.Expiry), env.PPID)
		t.push(env, statestore.Transaction{Sequence: env.Sequence, Effect: statestore.Quarantined})
		return bus.Answer{Status: bus.Quarantined}
	case r.Discard && t.needsStore():
		return bus.Answer{}
	case r.Discard:
		t.pass(id)
		return bus.Answer{Status: bus.Refused, HasReply: r.HasReply, Reply: r.Reply, AbortAssociation: r.AbortAssociation}
	}
	record := t.change(env.Expiry)
	t.own(record, env.PPID)
	if record.Leg != nil && record.Leg.Gone && record.Leg.Epoch == env.Epoch { // it speaks, so it is there
		record.Leg = present(record.Leg)
	}
	t.effect(record, &r)
	t.push(env, statestore.Transaction{
		Sequence: env.Sequence, Effect: statestore.Applied, HasReply: r.HasReply, Reply: statestore.Reply(r.Reply),
	})
	return bus.Answer{Status: bus.Committed, HasReply: r.HasReply, Reply: r.Reply, AbortAssociation: r.AbortAssociation}
}

// own gives a new session its handler.
func (t *turn) own(r *statestore.Record, ppid uint32) {
	if t.in.record == nil && len(r.Sources) == 0 && len(r.Peers) == 0 {
		r.Handler = t.handlers.owner(t.in.key, ppid)
	}
}

// setAside notes a failure, and tells whether it was one too many. If not, it is tried again later, and nothing of its source overtakes it.
func (t *turn) setAside(f fault) bool {
	f.final = !errors.Is(f.err, errNoHandler) && t.without != poisonRule && t.in.condemned(f.id)
	t.out.faults = append(t.out.faults, f)
	if !f.final {
		t.held = append(t.held, f.id)
	}
	return f.final
}

// push notes in the record that will be committed that a message took effect.
func (t *turn) push(env *bus.Envelope, tx statestore.Transaction) {
	r := t.out.record
	source := r.Source(env.Epoch)
	if source == nil {
		r.Sources = append(r.Sources, statestore.Source{Epoch: env.Epoch})
		source = &r.Sources[len(r.Sources)-1]
	}
	if tx.Sequence > source.Mark { // always, but for tests without marks
		source.Push(tx, t.in.now)
	}
}
