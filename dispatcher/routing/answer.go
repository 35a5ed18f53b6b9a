package routing

import (
	"time"

	"skyring/protocol/bus"
)

// Finished is a message that is done, with what its station is to be told.
type Finished struct {
	Message // without Key

	GivenUp  bool       // it was not answered in time; what follows is zero
	Status   bus.Status // Committed, Replayed, Stale, Quarantined or Refused
	HasReply bool
	Reply    bus.Reply // its payload is the answer's

	AbortAssociation bool // after the reply
}

// Heard says that a node's incarnation answered something: it is not stalled. The
// caller says so before it brings the answers.
func (c *Core) Heard(now time.Duration, incarnation uint64) {
	c.at(now)

	n := c.byIncarnation[incarnation]
	if n == nil || n.incarnation != incarnation {
		return
	}

	c.event++
	n.heard = c.event
	n.probeAt, n.probes = c.clock+c.cfg.Probe, 0
	c.revive(n)
	c.unpark()
}

// Answer takes one answer of a node's incarnation. What is done by it Done returns.
//
// An answer to an older attempt counts when it says that the effect is in: a commit
// is a fact, whoever made it. Anything else of an older attempt is dropped: what that
// one was refused the present one may get.
func (c *Core) Answer(now time.Duration, incarnation uint64, a *bus.Answer) {
	c.at(now)

	e := c.entries.find(a.Entry)
	if e != nil && e.place == written && e.attempt == a.Attempt && e.node.incarnation == incarnation {
		e.node.took(c.clock - e.at)
	}

	switch {
	case e == nil || e.place == held:
		c.counts.Dropped[DropDone]++
	case a.Attempt > e.attempt || a.Attempt == 0:
		c.counts.Dropped[DropUnsent]++
	case a.Status == bus.Committed || a.Status == bus.Replayed || a.Status == bus.Stale:
		c.finish(e, incarnation, a)
	case a.Attempt != e.attempt || e.place != written:
		c.counts.Dropped[DropAttempt]++
	case a.Status == bus.Quarantined || a.Status == bus.Refused:
		c.finish(e, incarnation, a)
	default:
		c.refused(e, a.Status)
	}
}

// finish takes a message out that is answered and lets what waited for it go on.
func (c *Core) finish(e *entry, incarnation uint64, a *bus.Answer) {
	c.counts.Answers[a.Status]++

	if from := c.byIncarnation[incarnation]; from != nil {
		from.answered++
	}

	s := e.session
	e.answer = *a
	c.settle(e)

	s.tries, s.again = 0, 0
	c.proceed(s)
}

// refused handles an answer that says that the message must go again: with it go all
// of its key that are unanswered, in order.
func (c *Core) refused(e *entry, status bus.Status) {
	c.counts.Answers[status]++

	if status == bus.Expired && e.message.mortal() && e.message.GiveUp-c.now < c.cfg.Deadline {
		c.giveUp(e) // and does not hold up the others of its key

		return
	}

	s := e.session
	flying := s.flying.len()
	cause := causeOf(status)
	c.resent(cause, s)
	c.recallAll(s)

	n := s.again
	s.again++

	// The first gap or expiry after progress is a mishap of the way: no need to wait.
	// Unavailable is Redis' state, which a moment may change.
	if cause != ByUnavailable {
		if n == 0 && c.budget.take(c.clock, flying) {
			c.launch(s, nil)
			c.unpark()

			return
		}
	}

	c.wait(s, doubled(c.cfg.RetryDelay, c.cfg.Deadline, n, c.random.Float64()))
	c.unpark()
}

// causeOf is why messages go again after an answer that does not finish them.
func causeOf(status bus.Status) Cause {
	switch status {
	case bus.Gap:
		return ByGap
	case bus.Expired:
		return ByExpired
	case bus.Unavailable, bus.Committed, bus.Replayed, bus.Stale, bus.Quarantined, bus.Refused: // the last five finish them
		return ByUnavailable
	default:
		return ByUnavailable
	}
}

// wait lets a session that is unbound go on later.
func (c *Core) wait(s *session, d time.Duration) {
	s.waiting = true
	c.timers.arm(&s.wait, c.clock+d)
}

// resent counts the messages of a session that are in flight and go again.
func (c *Core) resent(cause Cause, s *session) {
	c.counts.Resent[cause] += uint64(s.flying.len()) //nolint:gosec // positive
}
