package routing

import "time"

const (
	responseShare  = 8           // an answer's weight in the smoothed response is 1 in so many (RFC 6298)
	deadlineFactor = 4           // smoothed responses that an answer may take at least
	limitFraction  = 2           // the limit's messages take this part of the deadline
	limitLeast     = 8           // and are not fewer than this part of the configured limit
	limitInterval  = time.Second // between two changes of a node's limit
	peakFading     = 0.9         // of the peak throughput, over limitInterval
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

// adapt changes the limit of messages in flight to a node, once a second. By Little's law
// the response of a busy node is what is in flight over its throughput: more than its peak
// throughput can do in limitFraction of the deadline only waits in the node's queue, where
// nobody takes turns. A peak fades, so that a node that became slower gets less.
func (c *Core) adapt(n *node) {
	passed := c.clock - n.adaptedAt
	if passed < limitInterval {
		return
	}

	n.peak = max(float64(n.answered-n.adapted)/passed.Seconds(), n.peak*peakFading)
	n.adaptedAt, n.adapted = c.clock, n.answered
	target := c.cfg.Deadline / limitFraction

	switch {
	case n.response > target && n.inFlight >= n.limit.inFlight/2:
		c.setLimit(n, int(n.peak*target.Seconds()))
	case n.response < target/2 && n.limit.inFlight < c.cfg.InFlightLimit:
		c.setLimit(n, n.limit.inFlight+max(1, n.limit.inFlight/4))
	}
}

// setLimit sets a node's limit, not over the configured one and not under limitLeast of that.
func (c *Core) setLimit(n *node, limit int) {
	limit = min(max(limit, c.cfg.InFlightLimit/limitLeast, 1), c.cfg.InFlightLimit)
	n.limit.inFlight = limit

	n.limit.hardCap = noCap
	if c.cfg.HardCap > 0 {
		n.limit.hardCap = max(limit, int(int64(c.cfg.HardCap)*int64(limit)/int64(c.cfg.InFlightLimit)))
	}

	n.refresh(c)
}
