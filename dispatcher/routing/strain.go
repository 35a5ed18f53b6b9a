package routing

import (
	"time"

	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/gauge"
	"skyring/ring/policy"
)

// observe takes over what a heartbeat says of CPU and memory. A node that is at a threshold is at its limit, until
// both are well under theirs; this changes at most once in the hysteresis, over all incarnations of the node.
func (c *Core) observe(n *node, h bus.Heartbeat) {
	cpu, memory := gauge.Used(h.CPU, c.cfg.CPUThreshold), gauge.Used(h.Memory, c.cfg.MemoryThreshold)
	n.strain.Observe(c.clock, max(cpu, memory), c.cfg.Hysteresis)

	switch {
	case !n.strain.Held():
		n.strainedBy = NoReason
	case memory > cpu:
		n.strainedBy = ByMemory
	default:
		n.strainedBy = ByCPU
	}
}

// appraise makes the node's report for the policy, from its heartbeat and what its answers showed.
func (c *Core) appraise(n *node) {
	h := &n.reported

	response := n.response.Mean()
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
		ResponseDeviation:   n.response.Deviation(),
		Failures:            n.failures,
		ConsecutiveFailures: n.consecutive,
		Pressure: max(
			gauge.Used(h.CPU, c.cfg.CPUThreshold),
			gauge.Used(h.Memory, c.cfg.MemoryThreshold),
			gauge.Used(float64(h.MessagesPerSecond), c.cfg.RateThreshold*float64(h.Capacity)),
			gauge.Used(response.Seconds(), c.cfg.ResponseTarget.Seconds()),
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

	return 1 - max(n.report.Pressure*since, float64(n.inFlight+1)/float64(max(n.limit.Value(), 1)))
}
