package routing

import (
	"cmp"
	"slices"
)

// Done returns the messages that are done since the last call, for their stations to
// be told in this order: those of one key and association come in the order in which
// they arrived, whatever the order of their answers. The slice is valid until the
// next call.
func (c *Core) Done() []Finished {
	done := c.done

	clear(c.told) // their payloads are not ours any more
	c.done, c.told = c.told[:0], done

	return done
}

// settle takes a message out of its session's unanswered ones. It is told as done when
// all earlier messages of its key and association are: a commit whose outcome is not
// known yet, and is asked for again, must not be overtaken by its successors.
func (c *Core) settle(e *entry) {
	st := e.strand
	st.session.unanswered--
	e.inMortal.remove()

	switch {
	case e.node != nil:
		c.recall(e)
	case st.next == e:
		st.next = e.successor()
	}

	first := e.predecessor() == nil
	e.inStrand.remove()

	if first {
		c.tell(e)
		c.tellHeld(st)
	} else {
		e.place = held
		st.held.pushBack(&e.inStrand)
	}

	c.changed(st)
}

// tellHeld tells which messages of a strand are done that waited for earlier ones: those
// before the first unanswered one.
func (c *Core) tellHeld(st *strand) {
	from := len(c.done)
	next := st.entries.front()

	var after *entry
	for e := st.held.front(); e != nil; e = after {
		after = e.inStrand.after()

		if next == nil || e.position < next.position {
			e.inStrand.remove()
			c.tell(e)
		}
	}

	slices.SortFunc(c.done[from:], func(a, b Finished) int { return cmp.Compare(a.Sequence, b.Sequence) })
}

// tell adds a message to what Done returns, and forgets it.
func (c *Core) tell(e *entry) {
	a := &e.answer
	c.done = append(c.done, Finished{
		Message: e.message, GivenUp: e.givenUp,
		Status: a.Status, HasReply: a.HasReply, Reply: a.Reply, AbortAssociation: a.AbortAssociation,
	})
	c.entries.put(e)
}

// proceed lets what waited for a message that is settled go on.
func (c *Core) proceed(s *session) {
	if s.unanswered == 0 {
		c.release(s)
	} else {
		c.advance(s)
	}

	c.unpark()
}

// abandon gives up messages whose time is over. An attempt of theirs may have been
// committed all the same; the answer is then not used.
func (c *Core) abandon() {
	for e := c.mortal.front(); e != nil && e.message.GiveUp <= c.now; e = c.mortal.front() {
		c.giveUp(e)
	}
}

func (c *Core) giveUp(e *entry) {
	s := e.session
	c.counts.GivenUp++
	e.givenUp = true
	c.settle(e)
	c.proceed(s)
}
