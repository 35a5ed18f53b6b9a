package processor

import (
	"time"

	"skyring/statestore"
)

// capacity is what a node announces as its share of the ring, and what operators want it to be. A change of it moves stations, so it goes in steps, of at
// most a part of what is announced, with time between them. It is a value: methods give the next one.
type capacity struct {
	step     float64       // part of the announced capacity, over 0; static
	interval time.Duration // between two changes, at least; static

	configured uint32
	target     uint32
	announced  uint32
	changed    time.Time // announced was; by the store's clock
}

// newCapacity announces what is configured at once.
func newCapacity(cfg Config, now time.Time) capacity {
	return capacity{
		step: cfg.CapacityStep, interval: cfg.CapacityInterval, configured: cfg.Capacity, target: cfg.Capacity, announced: cfg.Capacity, changed: now,
	}
}

// resume goes on where the node was before it ended. A configuration that was changed since is the newer decision.
func (c capacity) resume(w statestore.Weight) (resumed capacity, kept bool) {
	if w.Target == 0 || w.Announced == 0 || w.Configured != c.configured {
		return c, false
	}
	c.target, c.announced, c.changed = w.Target, w.Announced, time.UnixMicro(w.Changed)
	return c, true
}

// kept is what the store keeps of it.
func (c capacity) kept() statestore.Weight {
	return statestore.Weight{Target: c.target, Announced: c.announced, Configured: c.configured, Changed: c.changed.UnixMicro()}
}

// aim sets a target; the first step is due if the last one was long enough ago.
func (c capacity) aim(target uint32, now time.Time) capacity {
	c.target = target
	c, _ = c.approach(now)
	return c
}

// jump announces another capacity at once.
func (c capacity) jump(target uint32, now time.Time) capacity {
	c.target, c.announced, c.changed = target, target, now
	return c
}

// approach takes the step that is due, if one is.
func (c capacity) approach(now time.Time) (next capacity, stepped bool) {
	if now.Before(c.changed) { // the clock was set back
		c.changed = now
	}
	if c.announced == c.target || now.Sub(c.changed) < c.interval {
		return c, false
	}
	c.announced, c.changed = c.after(c.announced), now
	return c, true
}

// after is what is announced one step after another capacity; the smallest step is 1.
func (c capacity) after(announced uint32) uint32 {
	step := uint32(max(1, c.step*float64(announced)))
	if c.target > announced {
		return announced + min(step, c.target-announced)
	}
	return announced - min(step, announced-c.target)
}

// left is how many steps there are to the target, and how long they take.
func (c capacity) left(now time.Time) (steps int, takes time.Duration) {
	for announced := c.announced; announced != c.target; steps++ {
		announced = c.after(announced)
	}
	if steps == 0 {
		return 0, 0
	}
	first := max(0, c.interval-max(0, now.Sub(c.changed)))
	return steps, first + time.Duration(steps-1)*c.interval
}
