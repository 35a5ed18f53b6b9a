package calibrate

import (
	"context"
	"math"
	"time"

	"skyring/processor/load"
	"skyring/statestore"
)

// Round is one load that was offered.
type Round struct {
	Offered  float64       // messages a second
	Answered float64       // messages a second, until P50 before the last answer
	P50, P99 time.Duration // from when a message was due until its answer
	Failed   int           // answers that were no success
	Long     bool          // the one to confirm a rate
	Held     bool          // P99 was in the target, without failures, and answers came as fast as messages
	Stopped  bool          // it was ended early: more waited than could be answered in time

	CPU   float64 // of what the process may use, 0 to 1
	Redis float64 // of its server's main thread, 0 to 1; 0: not known
}

// Limit is what was in the way of a higher rate.
type Limit uint8

// Limits.
const (
	LimitTime    Limit = 1 + iota // nothing was: the time was over before
	LimitCPU                      // the CPUs that the process may use
	LimitRedis                    // the main thread of the Redis server
	LimitFailing                  // messages failed
	LimitWaiting                  // neither: batches wait for Redis, or answers for their turn
)

// String is a clause that says what it was.
func (l Limit) String() string {
	switch l {
	case LimitTime:
		return "the time: no load was too much yet"
	case LimitCPU:
		return "the CPUs that this process may use"
	case LimitRedis:
		return "the main thread of the Redis server"
	case LimitFailing:
		return "messages that failed"
	case LimitWaiting:
		return "waiting for Redis"
	default:
		return "unknown"
	}
}

// busy is from when something counts as in the way.
const busy = 0.9

// limit judges the rounds that were offered the lowest rate that does not hold; 0: there is none.
func limit(all []Round, failed float64) Limit {
	found := LimitTime
	for _, r := range all {
		switch {
		case r.Held || r.Offered != failed:
		case r.Failed > 0:
			found = LimitFailing
		case r.Redis >= busy:
			found = LimitRedis
		case r.CPU >= busy:
			found = LimitCPU
		default:
			found = LimitWaiting
		}
	}
	return found
}

// keepsUp is the part of the offered rate that is answered by who sustains it. Less means that a queue grows, even if it is not too long yet.
const keepsUp = 0.95

// holds judges the round.
func (r *Round) holds(target time.Duration) bool {
	return !r.Stopped && r.Failed == 0 && r.P99 <= target && r.Answered >= keepsUp*r.Offered
}

// verdict is what the search is told of a round.
func (r *Round) verdict() verdict {
	switch {
	case r.Held:
		return held
	case r.Stopped || r.Failed > 0:
		return hopeless
	default:
		return late
	}
}

// rounds runs the search against the clock.
type rounds struct {
	generator *generator
	sampler   *load.Sampler
	store     *statestore.Store
	target    time.Duration
}

func (r *rounds) run(ctx context.Context, all time.Duration, tell func(Round)) (Result, error) {
	var (
		result Result
		s      search
	)
	deadline := time.Now().Add(all)
	short := all / perRound
	for {
		o, more := s.next()
		left, took := time.Until(deadline), short
		if o.long {
			took = max(lastRound*short, min(longRound*short, left))
		}
		if !more || len(result.Rounds) > 0 && left < took {
			break
		}
		round, err := r.one(ctx, o, took)
		if err != nil {
			return result, err
		}
		result.Rounds = append(result.Rounds, round)
		tell(round)
		if s.was(o, round.verdict()); o.long && round.Held {
			result.Confirmed = true
			break
		}
	}
	result.conclude(s.failed)
	return result, nil
}

// conclude takes the best round that held, under the lowest rate that does not; 0: there is none.
func (r *Result) conclude(failed float64) {
	r.Limit = limit(r.Rounds, failed)
	if failed == 0 {
		failed = math.Inf(1)
	}
	best := 0.0
	for i := range r.Rounds {
		if round := &r.Rounds[i]; round.Held && round.Offered < failed && round.Offered >= best {
			best = round.Offered
			r.Capacity, r.P99 = threeDigits(best), round.P99
		}
	}
}

// threeDigits rounds down: more would be made up.
func threeDigits(rate float64) uint32 {
	unit := 1.0
	for rate/unit >= 1000 {
		unit *= 10
	}
	return uint32(max(1, math.Floor(rate/unit)*unit))
}

// one offers a load and measures.
func (r *rounds) one(ctx context.Context, o offer, length time.Duration) (Round, error) {
	r.sampler.Sample(time.Now())
	before, beforeErr := r.store.Busy(ctx)
	began := time.Now()
	round, err := r.generator.offer(ctx, o.rate, length, r.target)
	if err != nil {
		return round, err
	}
	elapsed := time.Since(began)
	round.CPU = r.sampler.Sample(time.Now()).CPU
	if after, err := r.store.Busy(ctx); err == nil && beforeErr == nil {
		round.Redis = min(1, float64(after-before)/float64(elapsed))
	}
	round.Long = o.long
	round.Held = round.holds(r.target)
	return round, nil
}
