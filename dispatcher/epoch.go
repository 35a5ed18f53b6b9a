package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
)

const (
	askPause    = 50 * time.Millisecond  // before the first repetition of a query
	askPauseMax = 500 * time.Millisecond // where doubling ends
	goodTrip    = 100 * time.Millisecond // a query that took longer tells the clock only if nothing else did
)

// errGone means that the association ended before it had an epoch.
var errGone = errors.New("the association ended")

// asker is what epoch queries share.
type asker struct {
	floor atomic.Uint64 // highest epoch seen
	turn  atomic.Uint64 // whose turn it is among the live nodes
	clock atomic.Bool   // Redis' clock is known
}

// epoch asks one live node after another for an epoch, until ctx ends or gone is closed.
func (d *Dispatcher) epoch(ctx context.Context, gone <-chan struct{}) (uint64, error) {
	for pause := askPause; ; pause = min(2*pause, askPauseMax) {
		if id, ok := d.liveNode(); ok {
			epoch, err := d.ask(ctx, id)
			if err == nil {
				return epoch, nil
			}

			d.count.askErrors.Add(1)
			d.log.Debug().Err(err).Str("node", id).Msg("no epoch")
		}

		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for an epoch: %w", context.Cause(ctx))
		case <-gone:
			return 0, errGone
		case <-time.After(pause):
		}
	}
}

// liveNode is the node whose turn it is to be asked.
func (d *Dispatcher) liveNode() (string, bool) {
	d.mu.Lock()
	live := d.core.Live()
	d.mu.Unlock()

	if len(live) == 0 {
		return "", false
	}

	return live[d.asker.turn.Add(1)%uint64(len(live))], true
}

// ask asks one node for an epoch, learns Redis' clock from the answer, and raises an
// alarm when Redis lost what it had promised (rule R8).
func (d *Dispatcher) ask(ctx context.Context, id string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.AskTimeout)
	defer cancel()

	request := bus.EpochRequest{Floor: d.asker.floor.Load()}
	sent := d.now()

	data, err := d.conn.Request(ctx, d.cfg.Namespace.Ask(id), request.Append(nil))
	if err != nil {
		return 0, err //nolint:wrapcheck // names the act and the subject
	}

	received := d.now()

	reply, err := bus.DecodeEpochReply(data)
	if err != nil {
		return 0, fmt.Errorf("node %s: %w", id, err)
	}

	if reply.Error != "" {
		return 0, fmt.Errorf("node %s: %s", id, reply.Error) //nolint:err113 // the node's own words
	}

	d.setClock(sent, received, reply.RedisTime)

	if reply.RolledBack || reply.Epoch <= request.Floor {
		d.count.rollbacks.Add(1)
		d.log.Error().Uint64("epoch", reply.Epoch).Uint64("seen", request.Floor).Str("node", id).
			Msg("Redis lost writes: its last epoch is lower than one it gave before")
	}

	if reply.Epoch <= request.Floor {
		return 0, fmt.Errorf("node %s: epoch %d is not over %d", id, reply.Epoch, request.Floor) //nolint:err113 // told to the log
	}

	d.raiseFloor(reply.Epoch)

	return reply.Epoch, nil
}

func (d *Dispatcher) raiseFloor(epoch uint64) {
	for {
		seen := d.asker.floor.Load()
		if seen >= epoch || d.asker.floor.CompareAndSwap(seen, epoch) {
			return
		}
	}
}

// setClock takes Redis' time as that of the middle between question and answer.
func (d *Dispatcher) setClock(sent, received time.Duration, redis int64) {
	if received-sent > goodTrip && d.asker.clock.Load() {
		return
	}

	offset := time.Duration(redis)*time.Microsecond - (sent+received)/2

	d.with(func(core *routing.Core, _ time.Duration) { core.SetClock(offset) })
	d.asker.clock.Store(true)
}

// keepClock asks for Redis' clock now and then, and when an attempt had expired,
// until ctx ends. While no association is there, nobody needs it.
func (d *Dispatcher) keepClock(ctx context.Context) {
	refresh := time.NewTicker(d.cfg.ClockRefresh)
	defer refresh.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-d.clockDoubt:
		case <-refresh.C:
		}

		if !d.asker.clock.Load() {
			continue
		}

		id, ok := d.liveNode()
		if !ok {
			continue
		}

		if _, err := d.ask(ctx, id); err != nil {
			d.count.askErrors.Add(1)
			d.log.Debug().Err(err).Str("node", id).Msg("no Redis time")
		}
	}
}
