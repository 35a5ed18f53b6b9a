package processor

import (
	"bytes"
	"slices"

	"skyring/statestore"
)

// event is something other than a message that a session gets. It is made in this process, and may be lost with it: whatever it tells can be
// found again in the state store.
type event struct {
	kind   eventKind
	key    []byte // of the session
	expiry int64  // us, Redis time: what it does must be committed before
	peer   []byte // the other session; empty: the leg
	line   int64  // which the number is of

	number  uint64
	oldest  bool               // of offered: all before it are acknowledged
	payload []byte             // of offered
	mark    uint64             // of acknowledged: the destination's
	epoch   uint64             // of legTook and legGone: the association
	timer   statestore.Timer   // of fired
	peers   []statestore.Peer  // of peersGone: what was known of them then
	record  *statestore.Record // of swept: as it was read at time
	time    int64              // of swept; us, Redis time
}

// eventKind says what happened.
type eventKind uint8

const (
	offered      eventKind = 1 + iota // another session notifies
	acknowledged                      // a destination has what is in the outbox up to a number
	legTook                           // the leg has
	legGone                           // the leg's dispatcher does not know its association
	fired                             // a timer is due
	peersGone                         // records of peers are gone
	swept                             // the outbox waits; not for the engine
	doubted                           // the store may have lost writes of the session: its record is read
)

// ack tells the source of a notification that the destination has it.
type ack struct {
	event *event
	mark  uint64 // of the destination
}

// happen judges an event. What is too late changes nothing; only a notification that took effect may still be acknowledged.
func (t *turn) happen(ev *event) {
	if ev.kind != offered && t.expired(ev.expiry) {
		return
	}
	switch ev.kind {
	case offered:
		t.notified(ev)
	case acknowledged, legTook:
		t.delivered(ev)
	case legGone:
		if r := t.record(); t.onLeg(ev) && !r.Leg.Gone {
			gone := *r.Leg
			gone.Gone = true
			t.change(ev.expiry).Leg = &gone
		}
	case fired:
		t.fire(ev)
	case peersGone:
		t.part(ev)
	case swept, doubted:
	}
}

// notified judges what another session offers. Of its numbers the next one takes effect, what is at or under the mark is acknowledged again, and what
// is over the next one waits for that one; unless that one was acknowledged before: then it was the store that forgot.
func (t *turn) notified(ev *event) {
	id := failureID{key: string(t.in.key) + "<" + string(ev.peer), epoch: uint64(ev.line), sequence: ev.number}
	mark, known := uint64(0), false
	if p := t.record().Peer(ev.peer); p != nil && p.Mark > 0 {
		if p.Line > ev.line {
			return // of a session that was under this key before
		}
		if known = p.Line == ev.line; known {
			mark = p.Mark
		}
	}
	if ev.number <= mark && t.without != peerMarkRule {
		t.out.acks = append(t.out.acks, ack{event: ev, mark: mark})
		return
	}
	if t.expired(ev.expiry) || t.holds(id) {
		return
	}
	next := t.passedBy(id, mark) + 1
	forgotten := known && ev.oldest && ev.number > next
	inOrder := ev.number <= next || ev.oldest
	if forgotten && t.without == rollbackRule {
		inOrder = false
	}
	if (!inOrder || forgotten) && t.needsStore() || !inOrder {
		return
	}
	if forgotten {
		t.out.lost = append(t.out.lost, "a session forgot notifications that it acknowledged")
	}
	t.notify(ev, id)
}

// notify gives a notification its effect.
func (t *turn) notify(ev *event, id failureID) {
	r, err := t.apply(Input{Kind: FromSession, From: ev.peer, Payload: ev.payload})
	switch {
	case err != nil && !t.setAside(fault{id: id, input: FromSession, err: err}):
		return
	case err == nil && r.Discard:
		if !t.needsStore() {
			t.pass(id)
			t.out.acks = append(t.out.acks, ack{event: ev, mark: ev.number})
		}
		return
	}
	record := t.change(ev.expiry)
	t.own(record, 0)
	if err == nil {
		t.effect(record, &r)
	}
	p := meet(record, ev.peer)
	if p.Line != ev.line {
		p.Line, p.Mark = ev.line, 0
	}
	p.Mark, p.Touched = max(p.Mark, ev.number), t.in.now // more than the number only in tests without marks
	t.out.acks = append(t.out.acks, ack{event: ev, mark: ev.number})
}

// fire lets a timer fire that is still armed in the same generation.
func (t *turn) fire(ev *event) {
	r := t.record()
	if r == nil {
		t.needsStore()
		return
	}
	if !slices.ContainsFunc(r.Timers, func(armed statestore.Timer) bool {
		return armed.Name == ev.timer.Name && armed.Generation == ev.timer.Generation
	}) && t.without != generationRule {
		t.needsStore()
		return
	}
	result, err := t.apply(Input{Kind: TimerFired, Timer: ev.timer.Name})
	id := failureID{key: string(t.in.key), epoch: uint64(ev.timer.Name), sequence: uint64(ev.timer.Generation)}
	if err != nil && !t.setAside(fault{id: id, input: TimerFired, err: err}) {
		return
	}
	record := t.change(ev.expiry)
	disarm(record, ev.timer.Name)
	if err == nil && !result.Discard {
		t.effect(record, &result)
	}
}

// onLeg tells that an event is about the leg as it is now.
func (t *turn) onLeg(ev *event) bool {
	r := t.record()
	return r != nil && r.Line == ev.line && r.Leg != nil && r.Leg.Epoch == ev.epoch
}

// delivered removes from the outbox what its destination has.
func (t *turn) delivered(ev *event) {
	r := t.record()
	if r == nil || r.Line != ev.line || ev.kind == legTook && !t.onLeg(ev) {
		return
	}
	if p := r.Peer(ev.peer); p != nil && ev.kind == acknowledged && ev.mark > p.Next && t.without != rollbackRule {
		if !t.needsStore() {
			t.renumber(ev)
		}
		return
	}
	done := func(e statestore.Entry) bool { return bytes.Equal(e.Destination, ev.peer) && e.Number <= ev.number }
	if slices.ContainsFunc(r.Outbox, done) {
		record := t.change(ev.expiry)
		record.Outbox = slices.DeleteFunc(record.Outbox, done)
	}
}

// renumber goes on where the destination is, which has more than this session remembers to have sent. What waits is sent under new numbers: it
// may be something else than what was sent under the old ones.
func (t *turn) renumber(ev *event) {
	t.out.lost = append(t.out.lost, "a session forgot notifications that it sent")
	record := t.change(ev.expiry)
	p := meet(record, ev.peer)
	p.Next, p.Touched = ev.mark, t.in.now
	for i := range record.Outbox {
		if e := &record.Outbox[i]; bytes.Equal(e.Destination, ev.peer) {
			p.Next++
			e.Number = p.Next
		}
	}
}

// part forgets peers whose records are gone, if nothing came from them or waits for them since.
func (t *turn) part(ev *event) {
	for _, gone := range ev.peers {
		r := t.record()
		p := r.Peer(gone.Key)
		if p == nil || p.Line != gone.Line || p.Mark != gone.Mark || p.Next != gone.Next ||
			slices.ContainsFunc(r.Outbox, func(e statestore.Entry) bool { return bytes.Equal(e.Destination, gone.Key) }) {
			continue
		}
		record := t.change(ev.expiry)
		record.Peers = slices.DeleteFunc(record.Peers, func(p statestore.Peer) bool { return bytes.Equal(p.Key, gone.Key) })
	}
}
