package processor

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// quickRound is how long the store may take to tell the time in any case.
	quickRound = 20 * time.Millisecond
	// ageShare is which part of a reading's age a new one may take longer than it did: an old reading is worth less.
	ageShare = 50
)

// clock is the store's. Between two readings it goes on by the monotonic clock, so that it does not follow when this machine's is set.
type clock struct{ last atomic.Pointer[reading] }

// reading is one answer of the store.
type reading struct {
	at    time.Time     // here, half way
	redis int64         // us
	round time.Duration // from question to answer: the reading is wrong by half of it at most
}

// take takes a reading, unless the one before is more exact: the store, or this process, may have slept between question and answer.
func (c *clock) take(redis int64, asked, answered time.Time) {
	round := answered.Sub(asked)
	last := c.last.Load()
	if last != nil && round > quickRound && round > last.round+answered.Sub(last.at)/ageShare {
		return
	}
	c.last.Store(&reading{at: asked.Add(round / 2), redis: redis, round: round})
}

// now is the store's time, as well as it is known; us. Without a reading it is this machine's.
func (c *clock) now(here time.Time) int64 {
	last := c.last.Load()
	if last == nil {
		return here.UnixMicro()
	}
	return last.redis + here.Sub(last.at).Microseconds()
}

// offset is what this machine's clock lacks; us.
func (c *clock) offset(here time.Time) int64 { return c.now(here) - here.UnixMicro() }

// readClock asks the store for the time.
func (p *Processor) readClock(ctx context.Context) {
	asked := time.Now()
	redis, err := p.store.Time(ctx)
	p.reachable(err)
	if err == nil {
		p.clock.take(redis, asked, time.Now())
	}
}

// redisNow is the store's time as well as it is known.
func (p *Processor) redisNow() int64 { return p.clock.now(time.Now()) }
