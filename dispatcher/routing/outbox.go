package routing

import (
	"time"

	"skyring/protocol/bus"
)

// Frame bounds one envelope frame. A message over Bytes goes alone.
type Frame struct{ Messages, Bytes int }

// Fill writes what waits in a node's outbox to a frame, as far as it fits. It is
// then that a message's attempt, predecessor, expiry and deadline are set. It
// returns the number of envelopes.
func (c *Core) Fill(now time.Duration, n Node, w *bus.EnvelopeWriter, f Frame) int {
	c.at(now)

	if !c.connected {
		return 0
	}

	c.writeProbe(n.n, w)

	for e := n.n.outbox.front(); e != nil && w.Count() < f.Messages; e = n.n.outbox.front() {
		if w.Count() > 0 && w.Len()+bus.EnvelopeOverhead+len(e.session.key)+len(e.message.Payload) > f.Bytes {
			break
		}

		c.write(e, w)
	}

	return w.Count()
}

func (c *Core) write(e *entry, w *bus.EnvelopeWriter) {
	e.inOutbox.remove()
	e.place = written
	e.attempt++

	if e.node.written++; e.node.written == 1 {
		e.node.probeAt, e.node.probes = c.clock+c.cfg.Probe, 0
	}

	c.event++
	e.event, e.at = c.event, c.clock
	c.counts.Written++

	if e.attempt == 1 {
		c.budget.sent()
	}

	c.timers.arm(&e.deadline, c.clock+doubled(c.deadline(e.node), c.cfg.DeadlineMax, e.session.tries, c.random.Float64()))
	c.append(e, w)
}

// append adds an entry's envelope to a frame.
func (c *Core) append(e *entry, w *bus.EnvelopeWriter) {
	m := &e.message
	c.key = append(c.key[:0], e.session.key...)

	until := c.now + c.cfg.Expiry
	if m.GiveUp != 0 {
		until = min(until, m.GiveUp)
	}

	err := w.Append(&bus.Envelope{
		Entry:     e.id(),
		Attempt:   e.attempt,
		Epoch:     m.Epoch,
		Sequence:  m.Sequence,
		After:     e.after(),
		Ordinal:   m.Ordinal,
		Expiry:    (until + c.redis).Microseconds(),
		Stream:    m.Stream,
		Unordered: m.Unordered,
		PPID:      m.PPID,
		Key:       c.key,
		Payload:   m.Payload,
	})
	if err != nil {
		panic("routing: " + err.Error()) // Submit's caller bounds keys and payloads, Fill's the count
	}
}
