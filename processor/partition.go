package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"skyring/protocol/bus"
	"skyring/statestore"
)

const (
	// setApart is when a session that can not be read is looked at again; us.
	setApart = 60_000_000
	// stuckAge is how long an outbox may wait before it is looked after more rarely, once in stuckSweeps times; us. Its destination may wait for another
	// version of the program, or a dispatcher sleeps.
	stuckAge    = 60_000_000
	stuckSweeps = 10
	// trimEvery is how many LeaseTTL are between two looks for call data records that are too old.
	trimEvery = 4
	// lookQueue is how many sessions may wait for a look after their peers.
	lookQueue = 64
)

// look asks which of a session's peers are gone.
type look struct {
	key   []byte
	peers []statestore.Peer
}

// tend leases partitions and runs their timers and outboxes until the processor stops.
func (p *Processor) tend(ctx context.Context) {
	renewals, timers, sweeps := time.NewTicker(p.cfg.LeaseTTL/6), time.NewTicker(p.cfg.TimerTick), time.NewTicker(p.cfg.SweepAge/2)
	defer renewals.Stop()
	defer timers.Stop()
	defer sweeps.Stop()
	trims := time.NewTicker(trimEvery * p.cfg.LeaseTTL)
	defer trims.Stop()
	for {
		var err error
		select {
		case <-p.stop:
			err = p.store.Release(ctx, p.leases.now(time.Now()), p.owner())
			p.leases.hold(nil, time.Time{})
			if err != nil {
				p.log.Debug().Err(err).Msg("leases could not be given back")
			}
			return
		case <-renewals.C:
			err = errors.Join(p.sound(ctx), p.renew(ctx))
		case <-timers.C:
			err = p.runTimers(ctx)
		case <-sweeps.C:
			p.deliveries.purge(p.redisNow() - answerWait)
			err = p.sweep(ctx)
		case <-trims.C:
			err = p.trim(ctx)
		case l := <-p.looks:
			err = p.lookAt(ctx, l)
		}
		if err != nil {
			p.log.Debug().Err(err).Msg("timers and outboxes wait for the state store")
		}
	}
}

// owner names this run of the processor.
func (p *Processor) owner() string { return fmt.Sprintf("%s/%016x", p.cfg.ID, p.incarnation) }

// renew takes and renews the leases that are this processor's, and gives back what another one should have. A lease lives two thirds of
// LeaseTTL and is tried for every sixth, so that all of a dead one are taken in time. What a live one does not take is adopted a little later.
func (p *Processor) renew(ctx context.Context) error {
	began := time.Now()
	ttl := p.cfg.LeaseTTL * 2 / 3
	var want []int
	if p.ready() {
		want = p.leases.wanted(p.cfg.ID, p.store.Partitions(), began.Add(-ttl))
		adopted, err := p.adopted(ctx, want, began)
		if err != nil {
			return err
		}
		want = adopted
	}
	held := p.leases.now(began)
	excess := slices.DeleteFunc(slices.Clone(held), func(partition int) bool {
		_, wanted := slices.BinarySearch(want, partition)
		return wanted
	})
	if err := p.store.Release(ctx, excess, p.owner()); err != nil {
		return err
	}
	held, err := p.store.Lease(ctx, want, p.owner(), ttl)
	p.leases.hold(held, began.Add(ttl))
	return err
}

func (p *Processor) ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state == bus.Ready
}

// runTimers finds timers that are due. A session whose timers do not fire in spite of it comes up again a little later.
func (p *Processor) runTimers(ctx context.Context) error {
	now := p.redisNow()
	keys, err := p.store.Due(ctx, p.leases.now(time.Now()), now, p.cfg.SweepLimit)
	if err != nil || len(keys) == 0 {
		return err
	}
	return p.inspect(ctx, statestore.Timers, keys, func(k []byte, r *statestore.Record) (found bool) {
		for _, t := range r.Timers {
			if t.Due <= now {
				found = true
				p.timers.Add(1)
				p.tell(&event{kind: fired, key: k, timer: t, expiry: now + offerLife})
			}
		}
		return found
	})
}

// sweep finds outboxes that nobody emptied in time: who should have is dead, or its destination did not answer.
func (p *Processor) sweep(ctx context.Context) error {
	if p.engine.without == outboxRule {
		return nil
	}
	now := p.redisNow()
	keys, err := p.store.Pending(ctx, p.leases.now(time.Now()), now, p.cfg.SweepLimit)
	if err != nil || len(keys) == 0 {
		return err
	}
	return p.inspect(ctx, statestore.Outboxes, keys, func(k []byte, r *statestore.Record) (found bool) {
		if found = r.Pending(); found {
			p.swept.Add(1)
			p.tell(&event{kind: swept, key: k, record: r, time: now})
		}
		return found
	})
}

// trim forgets call data records that are too old.
func (p *Processor) trim(ctx context.Context) error {
	if p.cfg.CDRKeep == 0 {
		return nil
	}
	trimmed, err := p.store.TrimCDRs(ctx, p.leases.now(time.Now()), p.redisNow()-p.cfg.CDRKeep.Microseconds())
	if trimmed > 0 {
		p.log.Debug().Int64("records", trimmed).Msg("call data records forgotten")
	}
	return err //nolint:wrapcheck // it says what was done
}

// postponeStuck lets those come up again later that have waited for long.
func (p *Processor) postponeStuck(ctx context.Context, keys [][]byte, loaded []statestore.Loaded, now int64) error {
	var stuck [][]byte
	for i, l := range loaded {
		if l.Record.Pending() && slices.ContainsFunc(l.Record.Outbox, func(e statestore.Entry) bool { return now-e.Since > stuckAge }) {
			stuck = append(stuck, keys[i])
		}
	}
	return p.store.Postpone(ctx, statestore.Outboxes, stuck, now+stuckSweeps*p.cfg.SweepAge.Microseconds())
}

// inspect reads sessions that an index lists, and acts on them; they come up again after SweepAge unless they change. What the index lists in vain is
// taken out.
func (p *Processor) inspect(ctx context.Context, index statestore.Index, keys [][]byte, act func([]byte, *statestore.Record) bool) error {
	now := p.redisNow()
	if err := p.store.Postpone(ctx, index, keys, now+p.cfg.SweepAge.Microseconds()); err != nil {
		return err
	}
	loaded, err := p.store.Load(ctx, keys)
	if err != nil {
		return err
	}
	if index == statestore.Outboxes {
		if err := p.postponeStuck(ctx, keys, loaded, now); err != nil {
			return err
		}
	}
	for i, l := range loaded {
		switch {
		case l.Err != nil:
			p.unreadable.Add(1)
			p.sometimes.Do(func() {
				p.log.Error().Err(l.Err).Str("session", format(keys[i])).Msg("record of a session that waits can not be read, it is left alone")
			})
			if err := p.store.Postpone(ctx, index, keys[i:i+1], now+setApart); err != nil {
				return err
			}
		case l.Record != nil && act(keys[i], l.Record):
		default:
			pending := int64(0)
			if l.Record.Pending() {
				pending = now
			}
			if _, err := p.store.Reindex(ctx, keys[i], l.Record, pending); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAt tells a session which of its peers are gone.
func (p *Processor) lookAt(ctx context.Context, l look) error {
	keys := make([][]byte, len(l.peers))
	for i := range l.peers {
		keys[i] = l.peers[i].Key
	}
	absent, err := p.store.Absent(ctx, keys)
	if err != nil {
		return err
	}
	ev := &event{kind: peersGone, key: l.key, expiry: p.redisNow() + offerLife}
	for i, gone := range absent {
		if gone && len(keys[i]) > 0 {
			ev.peers = append(ev.peers, l.peers[i])
		}
	}
	if len(ev.peers) > 0 {
		p.tell(ev)
	}
	return nil
}
