package gauge

import (
	"math"
	"time"
)

const (
	limitLeast    = 8           // a limit is not fewer than this part of its ceiling
	limitInterval = time.Second // between two changes of a limit
	limitGain     = 2           // times what Little's law needs, for answers that come in bursts (as BBR's window)
	leastGradient = 0.5         // of a limit remains at least, from one change to the next
	peakFading    = 0.8         // of the peak throughput, over limitInterval
)

// Limit is how many messages a node may have in flight before it is at its limit: the ceiling while it answers within a target, and
// fewer while it does not. SetCeiling makes it of use.
type Limit struct {
	value, ceiling int

	most     int           // in flight, since at
	peak     float64       // highest throughput of late, messages a second
	at       time.Duration // of the last look
	answered uint64        // by then
}

// SetCeiling says how many messages the limit may ever be, at least 1, and sets it to that.
func (l *Limit) SetCeiling(messages int) { l.value, l.ceiling = messages, messages }

// Value is the limit in messages, 1 to the ceiling.
func (l *Limit) Value() int { return l.value }

// Loaded takes in that the node has so many messages in flight now.
func (l *Limit) Loaded(inFlight int) { l.most = max(l.most, inFlight) }

// Sample is what a limit is adapted by.
type Sample struct {
	Now      time.Duration // on a clock that never goes back, and stands while nothing could be answered
	Answered uint64        // messages since the node is known
	InFlight int           // messages now
	Response time.Duration // smoothed, 0: not known
	Target   time.Duration // that answers are to take at most; over 0
}

// Adapt changes the limit, at most once a second, by the gradient of the response, and tells whether it looked:
//
//	limit' = limit * target/response + sqrt(limit),   target/response between 1/2 and 1
//
// It shrinks while answers take longer than the target, and grows by the root, which probes for more, while they do not;
// by a quarter while they take less than half of it. A node that is slow at what little it has is left alone: its limit is not
// to blame.
//
// By Little's law a node needs its throughput times its response in flight. A limit stays at what the peak throughput needs
// at the target, twice: so a node whose answers take their time for another reason than a queue, or come in
// bursts, is not starved. More than that only waits in the node's queue, where nobody takes turns. A peak fades, so
// that a node that became slower gets less.
//
// The gradient is that of Netflix' concurrency-limits (2018) with the target in place of the least response seen; twice the product
// of peak throughput and target is the window of BBR (N. Cardwell et al., ACM Queue 14, 2016).
func (l *Limit) Adapt(s Sample) bool {
	passed := s.Now - l.at
	if passed < limitInterval {
		return false
	}

	l.peak = max(float64(s.Answered-l.answered)/passed.Seconds(), l.peak*peakFading)
	busy := l.most >= l.value/2
	l.at, l.answered, l.most = s.Now, s.Answered, s.InFlight

	target, response := s.Target.Seconds(), s.Response.Seconds()
	limit := float64(l.value)

	if response > target && !busy {
		return true
	}

	next := limit*max(min(target/response, 1), leastGradient) + math.Sqrt(limit)
	if response < target/2 {
		next = max(next, limit+limit/4)
	}

	next = max(next, limitGain*l.peak*target)
	l.value = int(min(max(next, float64(l.ceiling/limitLeast), 1), float64(l.ceiling)))

	return true
}
