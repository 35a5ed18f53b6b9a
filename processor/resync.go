package processor

import (
	"context"
	"slices"
)

// resync tells the handler that the store lost writes of the session, before anything else that came for it (R8).
func (t *turn) resync() {
	lost := t.in.forgot
	if lost == nil || t.in.record == nil || t.without == resyncRule || t.without == rollbackRule {
		return
	}
	r, err := t.apply(Input{Kind: Resynced, Payload: lost.Body})
	if err != nil {
		id := failureID{key: string(t.in.key) + " resync", sequence: lost.Version}
		t.out.faults = append(t.out.faults, fault{id: id, input: Resynced, err: err})
		return
	}
	if r.Discard {
		return
	}
	record := t.change(t.in.now + t.longest)
	if lost.Line == record.Line { // numbers that were sent are not given again: their destinations would take what is new for what they have
		for i := range lost.Peers {
			if sent := &lost.Peers[i]; sent.Next > 0 {
				p := meet(record, sent.Key)
				p.Next = max(p.Next, sent.Next)
			}
		}
	}
	record.Generation = max(record.Generation, lost.Generation)
	t.effect(record, &r)
}

// doubted tells that the record is to be read whatever is known of it.
func (g *group) doubted() bool {
	return slices.ContainsFunc(g.input.events, func(ev *event) bool { return ev.kind == doubted })
}

// doubt gives the sessions that are compared next, no more than a batch, so that messages do not wait for all of them.
func (w *worker) doubt() []*event {
	select {
	case <-w.doubts:
		w.doubtful = w.hints.keys()
	default:
	}
	n := min(len(w.doubtful), w.cfg.Batch)
	events := make([]*event, n)
	for i, k := range w.doubtful[:n] {
		events[i] = &event{kind: doubted, key: []byte(k)}
	}
	w.doubtful = w.doubtful[n:]
	w.queued.Add(int64(n))
	return events
}

// sound asks whether the store still knows the highest epoch that this processor knows of. Whatever it lost was written a short time ago, by a processor
// that still has a hint of it: each compares its hints with what is there.
func (p *Processor) sound(ctx context.Context) error {
	e, err := p.store.Epoch(ctx, p.floor)
	if err != nil {
		return err
	}
	if e.RolledBack {
		p.rollbacks.Add(1)
		p.log.Error().Uint64("seen", p.floor).Msg("the state store lost writes: it has forgotten an epoch; sessions are compared with what was seen of them")
		p.distrust()
	}
	p.floor = e.Epoch
	return nil
}

// distrust has all workers compare what they know with what the store has.
func (p *Processor) distrust() {
	for _, w := range p.workers {
		select {
		case w.doubts <- struct{}{}:
		default:
		}
	}
}
