package routing

import (
	"time"

	"skyring/ring/gauge"
)

const (
	deadlineFactor = 4       // smoothed responses that an answer may take at least
	limitMost      = 1 << 20 // a ceiling is not more, whatever its node asks for
)

// took takes note of how long an answer took.
func (n *node) took(d time.Duration) {
	n.consecutive = 0
	n.response.Took(d)
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
	return max(c.cfg.Deadline, min(deadlineFactor*n.response.Mean(), c.cfg.DeadlineMax))
}

// adapt changes the limit of messages in flight to a node, once a second.
func (c *Core) adapt(n *node) {
	if n.limit.Adapt(gauge.Sample{
		Now: c.clock, Answered: n.answered, InFlight: n.inFlight, Response: n.response.Mean(), Target: c.cfg.ResponseTarget,
	}) {
		c.limited(n)
	}
}

// ceiling is the most that the limit of a node may be: what it asks for, else what is configured.
func (c *Core) ceiling(n *node) int {
	if own := n.reported.InFlightLimit; own != 0 {
		return int(min(own, limitMost))
	}

	return c.cfg.InFlightLimit
}

// limited takes over a limit that changed. The hard cap is to it what it is to the limit in the configuration.
func (c *Core) limited(n *node) {
	limit := int64(n.limit.Value())

	n.hardCap = noCap
	if c.cfg.HardCap > 0 {
		n.hardCap = int(min(max(limit, int64(c.cfg.HardCap)*limit/int64(c.cfg.InFlightLimit)), noCap))
	}

	n.refresh(c)
}
