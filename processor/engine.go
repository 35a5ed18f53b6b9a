package processor

import (
	"errors"
	"math"
	"slices"

	"skyring/protocol/bus"
	"skyring/statestore"
)

// maxSources is how many associations a session remembers, unless more were active within the longest expiry.
const maxSources = 64

// engine decides what messages do to a session. It is a value without state: same arguments, same decisions.
type engine struct {
	handlers Handlers
	node     string
	longest  int64 // us; no message may be committed later than this after it was judged
	without  rule  // for tests alone: a rule that is switched off, to show what it protects from
}

// rule is one that keeps an effect from coming twice.
type rule uint8

const (
	noRule     rule = iota
	markRule        // at or under the mark nothing is applied
	expiryRule      // past its expiry nothing is applied
)

// knowledge tells how much a record is worth.
type knowledge uint8

const (
	fromHint  knowledge = iota // it was the last one seen; others may have written since
	fromStore                  // it was just read
)

// input is one session and the messages that it got, in their order.
type input struct {
	key       []byte
	record    *statestore.Record // nil: there is none
	known     knowledge
	now       int64 // us, Redis time as well as it is known
	envelopes []*bus.Envelope
	condemned func(*bus.Envelope) bool // the message failed so often that another failure sets it aside
}

// output is what shall become of them. Answers hold only once the record, if any, is committed.
type output struct {
	reread  bool               // the record must be read to decide; everything else is void
	record  *statestore.Record // to be written in place of the input's; nil: there is nothing to write
	expiry  int64              // us, Redis time: the earliest one of the messages in record
	answers []bus.Answer       // one per envelope
	faults  []fault
}

// fault is a failure of the handler.
type fault struct {
	envelope *bus.Envelope
	err      error
}

// run judges the messages one after another, each on what the ones before left.
func (e engine) run(in input) output {
	t := turn{engine: e, in: in, out: output{expiry: math.MaxInt64, answers: make([]bus.Answer, 0, len(in.envelopes))}}
	for _, env := range in.envelopes {
		a := t.judge(env)
		if t.out.reread {
			return output{reread: true}
		}
		a.Entry, a.Attempt = env.Entry, env.Attempt
		t.out.answers = append(t.out.answers, a)
	}
	if t.out.record != nil {
		e.forget(t.out.record, in.now)
	}
	return t.out
}

// turn is one run of the engine.
type turn struct {
	engine

	in   input
	out  output
	held []uint64 // epochs of which a message failed: what follows it must wait
}

func (t *turn) record() *statestore.Record {
	if t.out.record != nil {
		return t.out.record
	}
	return t.in.record
}

func (t *turn) judge(env *bus.Envelope) bus.Answer {
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
	switch {
	case t.without != expiryRule && (env.Expiry <= t.in.now || env.Expiry > t.in.now+t.longest):
		return bus.Answer{Status: bus.Expired}
	case env.After <= mark:
		return t.apply(env)
	case t.in.known == fromHint:
		t.out.reread = true
		return bus.Answer{}
	case slices.Contains(t.held, env.Epoch):
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

// apply gives a message its effect.
func (t *turn) apply(env *bus.Envelope) bus.Answer {
	current := t.record()
	owner := t.handlers.owner(t.in.key, env.PPID)
	var body []byte
	if current != nil {
		owner, body = current.Handler, current.Body
	}
	handler, err := t.handlers.find(owner)
	var r Result
	if err == nil {
		r, err = apply(handler, Session{Key: t.in.key, Body: body}, Input{Kind: FromAssociation, Now: t.in.now, Node: t.node, Message: Message{
			Epoch: env.Epoch, Sequence: env.Sequence, Stream: env.Stream, Unordered: env.Unordered,
			PPID: env.PPID, Payload: env.Payload, Now: t.in.now, Node: t.node,
		}})
	}
	if err != nil {
		return t.failed(env, owner, body, err)
	}
	t.write(env, owner, r.Body, statestore.Transaction{
		Sequence: env.Sequence, Effect: statestore.Applied, HasReply: r.HasReply, Reply: statestore.Reply(r.Reply),
	})
	return bus.Answer{Status: bus.Committed, HasReply: r.HasReply, Reply: r.Reply}
}

// failed sets a message aside when it failed often enough; else it is tried again later, and nothing of its association overtakes it.
func (t *turn) failed(env *bus.Envelope, owner uint32, body []byte, err error) bus.Answer {
	t.out.faults = append(t.out.faults, fault{envelope: env, err: err})
	if errors.Is(err, errNoHandler) || !t.in.condemned(env) {
		t.held = append(t.held, env.Epoch)
		return bus.Answer{Status: bus.Unavailable}
	}
	t.write(env, owner, body, statestore.Transaction{Sequence: env.Sequence, Effect: statestore.Quarantined})
	return bus.Answer{Status: bus.Quarantined}
}

// write puts an effect into the record that will be committed.
func (t *turn) write(env *bus.Envelope, owner uint32, body []byte, tx statestore.Transaction) {
	if t.out.record == nil {
		t.out.record = t.in.record.Clone()
	}
	r := t.out.record
	r.Handler, r.Body = owner, body
	source := r.Source(env.Epoch)
	if source == nil {
		r.Sources = append(r.Sources, statestore.Source{Epoch: env.Epoch})
		source = &r.Sources[len(r.Sources)-1]
	}
	if tx.Sequence > source.Mark { // always, but for tests without marks
		source.Push(tx, t.in.now)
	}
	if t.without != expiryRule {
		t.out.expiry = min(t.out.expiry, env.Expiry)
	}
}

// forget drops what can not be asked for any more. Nothing that was sent before the longest expiry can be committed, so the replies of a source that
// has been quiet for so long are not needed; its mark is kept nevertheless, as long as there are not too many.
func (e engine) forget(r *statestore.Record, now int64) {
	outlived := func(s statestore.Source) bool { return s.Touched < now-e.longest }
	for i := range r.Sources {
		if outlived(r.Sources[i]) {
			r.Sources[i].Ring = nil
		}
	}
	if len(r.Sources) <= maxSources {
		return
	}
	slices.SortStableFunc(r.Sources, func(a, b statestore.Source) int {
		switch {
		case a.Touched < b.Touched:
			return -1
		case a.Touched > b.Touched:
			return 1
		default:
			return 0
		}
	})
	for len(r.Sources) > maxSources && outlived(r.Sources[0]) {
		r.Sources = r.Sources[1:]
	}
}
