package processor

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"skyring/protocol/bus"
	"skyring/statestore"
)

const (
	maxOutbox = 4096 // entries of a session; a handler that wants more fails
	maxLegBox = 256  // those of them that are for the leg; over it the oldest falls out
)

// check refuses results that can not be carried out.
func (t *turn) check(kind InputKind, r *Result) error {
	switch {
	case r.HasReply && kind != FromAssociation:
		return fmt.Errorf("handler replies to a %v", kind)
	case r.HasReply && len(r.Reply.Payload) == 0:
		return errors.New("handler gave an empty reply")
	case r.HasReply && t.tooLarge(r.Reply.Payload):
		return fmt.Errorf("reply of %d bytes, the bus carries %d", len(r.Reply.Payload), t.largest)
	case r.Discard:
		return nil
	case r.Keep && r.Ended:
		return errors.New("handler ends a session and keeps it")
	}
	if err := t.checkOutbox(r); err != nil {
		return err
	}
	if r.SetLeg != nil && r.SetLeg.Dispatcher != "" {
		if err := bus.ValidateID(r.SetLeg.Dispatcher); err != nil {
			return fmt.Errorf("leg's dispatcher: %w", err)
		}
	}
	for _, a := range r.Arm {
		if a.Due <= 0 {
			return fmt.Errorf("timer %d is armed for %d", a.Name, a.Due)
		}
	}
	return nil
}

func (t *turn) checkOutbox(r *Result) error {
	for _, n := range r.Notify {
		if len(n.Key) == 0 || len(n.Key) > math.MaxUint8 || string(n.Key) == string(t.in.key) {
			return fmt.Errorf("notification for the session %q", format(n.Key))
		}
	}
	for _, payload := range r.ToLeg {
		if len(payload) == 0 || t.tooLarge(payload) {
			return fmt.Errorf("message of %d bytes for the leg, 1 to %d are right", len(payload), t.largest)
		}
	}
	if current := t.record(); current != nil && len(current.Outbox)+len(r.Notify) > maxOutbox {
		return fmt.Errorf("outbox is full: %d entries", len(current.Outbox))
	}
	return nil
}

func (t *turn) tooLarge(payload []byte) bool { return t.largest > 0 && len(payload) > t.largest }

// effect carries a result out on the record that will be committed.
func (t *turn) effect(record *statestore.Record, r *Result) {
	record.Body = r.Body
	record.Life = statestore.Fading
	switch {
	case r.Keep:
		record.Life = statestore.Kept
	case r.Ended:
		record.Life, record.Timers = statestore.Ended, nil
	}
	for _, name := range r.Cancel {
		disarm(record, name)
	}
	for _, a := range r.Arm {
		disarm(record, a.Name)
		record.Generation++
		record.Timers = append(record.Timers, statestore.Timer{Name: a.Name, Generation: record.Generation, Due: a.Due})
	}
	t.outLeg(record, r)
	for _, n := range r.Notify {
		t.post(record, n.Key, n.Payload)
	}
	t.out.cdrs = append(t.out.cdrs, r.CDRs...)
}

// outLeg sets the leg and puts what is for it into the outbox.
func (t *turn) outLeg(record *statestore.Record, r *Result) {
	switch {
	case r.SetLeg != nil && r.SetLeg.Dispatcher == "":
		record.Leg = nil
	case r.SetLeg != nil:
		record.Leg = present(r.SetLeg)
	case len(r.ToLeg) > 0 && record.Leg != nil && record.Leg.Gone: // it may be back: its dispatcher is asked again
		record.Leg = present(record.Leg)
	}
	if r.DropLegBox {
		record.Outbox = slices.DeleteFunc(record.Outbox, forLeg)
	}
	for _, payload := range r.ToLeg {
		t.post(record, nil, payload)
	}
	over := -maxLegBox
	for i := range record.Outbox {
		if forLeg(record.Outbox[i]) {
			over++
		}
	}
	for ; over > 0; over-- {
		i := slices.IndexFunc(record.Outbox, forLeg)
		record.Outbox = slices.Delete(record.Outbox, i, i+1)
		t.out.dropped++
	}
}

func forLeg(e statestore.Entry) bool { return len(e.Destination) == 0 }

// present is a leg whose association is there as far as is known.
func present(l *statestore.Leg) *statestore.Leg {
	p := *l
	p.Gone = false
	return &p
}

// post puts an entry into the outbox. Numbers of one line count up for each destination.
func (t *turn) post(r *statestore.Record, destination, payload []byte) {
	if r.Line == 0 {
		r.Line = max(t.in.now, 1)
	}
	p := meet(r, destination)
	p.Next++
	p.Touched = t.in.now
	r.Outbox = append(r.Outbox, statestore.Entry{Destination: destination, Number: p.Next, Since: t.in.now, Payload: payload})
}

// meet gives what the record knows of a peer, and begins with it.
func meet(r *statestore.Record, key []byte) *statestore.Peer {
	if p := r.Peer(key); p != nil {
		return p
	}
	r.Peers = append(r.Peers, statestore.Peer{Key: key})
	return &r.Peers[len(r.Peers)-1]
}

// disarm removes a timer and tells which one was armed.
func disarm(r *statestore.Record, name uint8) {
	r.Timers = slices.DeleteFunc(r.Timers, func(t statestore.Timer) bool { return t.Name == name })
}
