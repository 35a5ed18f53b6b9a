package replay

import (
	"context"
	"fmt"
	"time"

	"skyring/processor/ledger"
	"skyring/protocol/key"
	"skyring/statestore"
)

// baseline is what the store held before anything was sent.
type baseline struct {
	epochs map[uint64]struct{} // associations that have a chain
	nodes  map[string]uint64   // messages by node
}

// observation is what the store holds of associations that a baseline does not know.
type observation struct {
	sessions sessions
	nodes    map[string]uint64   // messages by node since the baseline
	retired  map[string]uint64   // chains that a ledger no longer holds one by one, by erased key
	epochs   map[uint64]struct{} // associations that have a chain, known ones too
	faults   []string            // records that cannot be read or contradict themselves
}

// takeBaseline reads the store before anything is sent.
func takeBaseline(ctx context.Context, store *statestore.Store) (baseline, error) {
	o, err := observe(ctx, store, baseline{})
	if err != nil {
		return baseline{}, err
	}

	return baseline{epochs: o.epochs, nodes: o.nodes}, nil
}

// observe reads the whole store and keeps what is new since the baseline.
func observe(ctx context.Context, store *statestore.Store, since baseline) (*observation, error) {
	o := &observation{
		sessions: make(sessions),
		nodes:    make(map[string]uint64),
		retired:  make(map[string]uint64),
		epochs:   make(map[uint64]struct{}),
	}

	for s, err := range store.Sessions(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read the sessions in the store: %w", err)
		}

		if err := o.add(s, since); err != nil {
			o.faults = append(o.faults, fmt.Sprintf("%s: %v", key.Format(s.Key), err))
		}
	}

	for node, before := range since.nodes {
		if o.nodes[node] <= before {
			delete(o.nodes, node)
		} else {
			o.nodes[node] -= before
		}
	}

	return o, nil
}

// add takes the new chains of a session.
func (o *observation) add(s statestore.Session, since baseline) error {
	if s.Err != nil {
		return s.Err
	}

	if s.Record.Handler != 0 || ofESSP(s.Key) {
		return nil // of a handler of its own, no ledger
	}

	l, err := ledger.Decode(s.Record.Body)
	if err != nil {
		return fmt.Errorf("read its ledger: %w", err)
	}

	for i := range l.Nodes {
		o.nodes[l.Nodes[i].ID] += l.Nodes[i].Count
	}

	chains := make(session)

	for i := range l.Chains {
		c := &l.Chains[i]
		o.epochs[c.Epoch] = struct{}{}

		if _, known := since.epochs[c.Epoch]; !known {
			chains[source{c.Epoch, lane{c.Stream, c.Unordered}}] = &chain{count: c.Count, bytes: c.Bytes, value: c.Value}
		}
	}

	if len(chains) == 0 {
		return nil
	}

	return o.keep(s.Key, l, chains)
}

// ofESSP tells that a session is a station, a call or a pool. Those that an operator put into the store name no handler.
func ofESSP(k []byte) bool {
	kind := key.KindOf(k)

	return kind == key.KindStation || kind == key.KindCall || kind == key.KindPool
}

func (o *observation) keep(k []byte, l *ledger.Ledger, chains session) error {
	erased := string(key.WithAssociation(nil, k, 0))
	sum := chains.total()
	o.sessions[erased] = append(o.sessions[erased], chains)
	o.retired[erased] += l.Retired.Chains

	if len(chains) == len(l.Chains) && l.Retired.Chains == 0 && (sum.count != l.Count || sum.bytes != l.Bytes) {
		return fmt.Errorf("its count says %s, its chains hold %s", chain{count: l.Count, bytes: l.Bytes}, sum)
	}

	return nil
}

// settle compares what was sent with the store. Where they differ it looks again until
// nothing of this replay changes in the store for the idle time: the target may still be at work.
func settle(ctx context.Context, store *statestore.Store, since baseline, want sessions, idle time.Duration) (*observation, *comparison, error) {
	var (
		present, surplus uint64
		changed          = time.Now()
	)

	for {
		started := time.Now()

		o, err := observe(ctx, store, since)
		if err != nil {
			return nil, nil, err
		}

		c := compare(want, o)
		if c.differing == 0 {
			return o, c, nil
		}

		if c.present != present || c.surplus != surplus { // others may send for ever
			present, surplus, changed = c.present, c.surplus, time.Now()
		}

		if time.Since(changed) >= idle {
			return o, c, nil
		}

		// Reading the whole store must not be what keeps it busy.
		timer := time.NewTimer(max(idle/20, 4*time.Since(started)))

		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()

			return nil, nil, ctx.Err()
		}
	}
}
