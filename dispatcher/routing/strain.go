package routing

import (
	"math"
	"time"

	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

// reopening is the part of a threshold under which a node that was over it is open again.
const reopening = 0.9

// strain is whether a node's own report puts it at its limit.
type strain struct {
	by    Reason        // ByCPU or ByMemory, NoReason: it does not
	since bool          // at is set
	at    time.Duration // when this changed last, by the core's clock
}

// observe takes over what a heartbeat says of CPU and memory. A node that is at a threshold is at its limit, until
// both are well under theirs; this changes at most once in the hysteresis, over all incarnations of the node.
func (c *Core) observe(n *node, h bus.Heartbeat) {
	by := ByCPU
	used, threshold := h.CPU, c.cfg.CPUThreshold

	if part(h.Memory, c.cfg.MemoryThreshold) > part(used, threshold) {
		by = ByMemory
		used, threshold = h.Memory, c.cfg.MemoryThreshold
	}

	s := &n.strain
	over := threshold > 0 && used >= threshold
	under := threshold <= 0 || used < reopening*threshold
	changes := s.by == NoReason && over || s.by != NoReason && under

	switch {
	case changes && s.since && c.clock-s.at < c.cfg.Hysteresis: // too early
	case changes && over:
		*s = strain{by: by, since: true, at: c.clock}
	case changes:
		*s = strain{since: true, at: c.clock}
	case s.by != NoReason:
		s.by = by // which of the two keeps it there
	}
}

// part is how much of a threshold is used; nothing of one that is switched off.
func part(used, threshold float64) float64 {
	if threshold <= 0 {
		return 0
	}

	return used / threshold
}

// appraise makes the node's report for the policy, from its heartbeat and what its answers showed.
func (c *Core) appraise(n *node) {
	h := &n.reported

	response := n.response
	if n.answered == n.appraised { // it had nothing to answer
		response = time.Duration(h.ResponseMicros) * time.Microsecond
	}

	n.appraised, n.inFlightThen = n.answered, n.inFlight
	n.report = policy.Report{
		At:                  c.clock,
		CPU:                 h.CPU,
		Memory:              h.Memory,
		Active:              h.InFlight,
		MessagesPerSecond:   float64(h.MessagesPerSecond),
		BytesPerSecond:      float64(h.BytesPerSecond),
		Response:            response,
		ResponseDeviation:   time.Duration(math.Sqrt(n.variance) * float64(time.Second)),
		Failures:            n.failures,
		ConsecutiveFailures: n.consecutive,
		Pressure: max(
			part(h.CPU, c.cfg.CPUThreshold),
			part(h.Memory, c.cfg.MemoryThreshold),
			part(float64(h.MessagesPerSecond), c.cfg.RateThreshold*float64(h.Capacity)),
			part(response.Seconds(), c.cfg.ResponseTarget.Seconds()),
		),
	}

	if n.index != ring.NoNode {
		c.policy.SetReport(n.index, n.report)
	}
}

// weight is 1 minus the most used part of what the node may use: the dominant resource decides. It is 1 for an idle node,
// 0 at a limit, and may be negative.
func (n *node) weight() float64 {
	since := float64(n.inFlight+1) / float64(n.inFlightThen+1)

	return 1 - max(n.report.Pressure*since, float64(n.inFlight+1)/float64(max(n.limit.inFlight, 1)))
}
