package routing

import "skyring/protocol/bus"

// considerProbe has the oldest message of a node's first session written again when
// the node holds messages and answers nothing, at doubling intervals. It is the same
// attempt: a node that is there applies it once as ever. One that is gone shows by
// NATS' report that nobody listens, which comes only when something is published:
// keys whose windows are full publish nothing, and would wait for their deadline.
func (c *Core) considerProbe(n *node) {
	if n.written == 0 || c.clock < n.probeAt {
		return
	}

	for s := n.sessions.front(); s != nil; s = s.atNode.after() {
		if e := s.flying.front(); e != nil && e.place == written {
			n.probes++
			n.probe, n.probeAt = e, c.clock+c.cfg.Probe<<min(n.probes, 16)
			c.ready = append(c.ready, n)

			return
		}
	}
}

// writeProbe adds the probe that waits for a node to a frame.
func (c *Core) writeProbe(n *node, w *bus.EnvelopeWriter) {
	if n.probe == nil {
		return
	}

	c.counts.Probes++
	c.append(n.probe, w)
	n.probe = nil
}
