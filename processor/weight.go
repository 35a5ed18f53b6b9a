package processor

import (
	"context"
	"fmt"
	"time"

	"skyring/protocol/bus"
)

// storeTime is the store's clock: it goes on over restarts, on whatever machine.
func (p *Processor) storeTime() time.Time { return time.UnixMicro(p.redisNow()) }

// weigh gives the node another capacity, for good: the store is told first.
func (p *Processor) weigh(ctx context.Context, request bus.NodeRequest) error {
	p.deciding.Lock()
	defer p.deciding.Unlock()
	next, now := p.capacityNow(), p.storeTime()
	if request.Administration == bus.WeighNow {
		next = next.jump(request.Capacity, now)
	} else {
		next = next.aim(request.Capacity, now)
	}
	if err := p.keep(ctx, next); err != nil {
		return fmt.Errorf("the decision could not be kept: %w", err)
	}
	steps, takes := next.left(now)
	p.log.Info().Uint32("capacity", next.announced).Uint32("target", next.target).Int("steps", steps).Stringer("takes", takes).Msg("an operator decided")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat()
	return nil
}

// approach takes the next step to the capacity that an operator wants, when it is due. Without the store the step waits.
func (p *Processor) approach(ctx context.Context) {
	if _, due := p.capacityNow().approach(p.storeTime()); !due {
		return
	}
	p.deciding.Lock()
	defer p.deciding.Unlock()
	next, due := p.capacityNow().approach(p.storeTime())
	if !due {
		return
	}
	if err := p.keep(ctx, next); err != nil {
		p.sometimes.Do(func() { p.log.Warn().Err(err).Msg("the next step of the capacity waits") })
		return
	}
	p.log.Info().Uint32("capacity", next.announced).Uint32("target", next.target).Msg("capacity goes a step towards its target")
}

// keep stores a capacity and then announces it. p.deciding is held.
func (p *Processor) keep(ctx context.Context, next capacity) error {
	if err := p.store.SetWeight(ctx, p.cfg.ID, next.kept()); err != nil {
		return err //nolint:wrapcheck // it says what was done
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capacity = next
	return nil
}

// resume takes what was decided about the capacity before the process started.
func (p *Processor) resume(ctx context.Context) error {
	p.deciding.Lock()
	defer p.deciding.Unlock()
	weight, err := p.store.Weight(ctx, p.cfg.ID)
	if err != nil {
		return err //nolint:wrapcheck // it says what was done
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next, kept := newCapacity(p.cfg, p.storeTime()).resume(weight)
	if weight.Target != 0 && !kept {
		p.log.Info().Uint32("capacity", p.cfg.Capacity).Uint32("was", weight.Configured).Uint32("weight", weight.Target).
			Msg("the configured capacity was changed, it takes the place of what an operator decided before")
	}
	p.capacity = next
	return nil
}

func (p *Processor) capacityNow() capacity {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.capacity
}
