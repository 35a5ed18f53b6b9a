package routing

import (
	"math"
	"time"
)

const (
	responseShare  = 8           // an answer's weight in the smoothed response is 1 in so many (RFC 6298)
	deadlineFactor = 4           // smoothed responses that an answer may take at least
	limitLeast     = 8           // a limit is not fewer than this part of its ceiling
	limitMost      = 1 << 20     // nor is a ceiling more, whatever its node asks for
	limitInterval  = time.Second // between two changes of a node's limit
	limitGain      = 2           // times what Little's law needs, for answers that come in bursts (as BBR's window)
	leastGradient  = 0.5         // of a limit remains at least, from one change to the next
	peakFading     = 0.8         // of the peak throughput, over limitInterval
)

// took takes note of how long an answer took.
func (n *node) took(d time.Duration) {
	n.consecutive = 0

	if n.response == 0 {
		n.response = d

		return
	}

	off := (d - n.response).Seconds()
	n.variance += (off*off - n.variance) / responseShare
	n.response += (d - n.response) / responseShare
}

// fail takes note of messages that were not answered in time.
func (n *node) fail(messages int) {
	n.failures += uint32(messages)    //nolint:gosec // not negative
	n.consecutive += uint32(messages) //nolint:gosec // not negative
}

// deadline is how long the first attempt of a message may take at a node. A node with a
// queue answers late, and moving its messages would only make the next queue longer: so
// it has a multiple of the time that it takes, as in TCP's retransmission timer. One that
// answered swiftly until it stopped has just the configured time.
func (c *Core) deadline(n *node) time.Duration {
	return max(c.cfg.Deadline, min(deadlineFactor*n.response, c.cfg.DeadlineMax))
}

// adapt changes the limit of messages in flight to a node, once a second, by the gradient of its response:
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
func (c *Core) adapt(n *node) {
	passed := c.clock - n.adaptedAt
	if passed < limitInterval {
		return
	}

	n.peak = max(float64(n.answered-n.adapted)/passed.Seconds(), n.peak*peakFading)
	busy := n.most >= n.limit.inFlight/2
	n.adaptedAt, n.adapted, n.most = c.clock, n.answered, n.inFlight

	target := c.cfg.ResponseTarget.Seconds()
	response := n.response.Seconds()
	limit := float64(n.limit.inFlight)

	if response > target && !busy {
		return
	}

	next := limit*max(min(target/response, 1), leastGradient) + math.Sqrt(limit)
	if response < target/2 {
		next = max(next, limit+limit/4)
	}

	c.setLimit(n, int(max(next, limitGain*n.peak*target)))
}

// ceiling is the most that the limit of a node may be: what it asks for, else what is configured.
func (c *Core) ceiling(n *node) int {
	if own := n.reported.InFlightLimit; own != 0 {
		return int(min(own, limitMost))
	}

	return c.cfg.InFlightLimit
}

// setLimit sets a node's limit, not over its ceiling and not under limitLeast of that. The hard cap is to it what it
// is to the limit in the configuration.
func (c *Core) setLimit(n *node, limit int) {
	ceiling := c.ceiling(n)
	limit = min(max(limit, ceiling/limitLeast, 1), ceiling)
	n.limit.inFlight = limit

	n.limit.hardCap = noCap
	if c.cfg.HardCap > 0 {
		n.limit.hardCap = int(min(max(int64(limit), int64(c.cfg.HardCap)*int64(limit)/int64(c.cfg.InFlightLimit)), noCap))
	}

	n.refresh(c)
}
