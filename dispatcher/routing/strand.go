package routing

// strand is what is unanswered of one key and association. The strands of a key take
// turns: whatever other associations send under a key that is not theirs, each waits
// behind its own messages and one of every other at a time.
//
// Those in flight are the first ones, in order of arrival.
type strand struct {
	session *session
	epoch   uint64

	entries   list[entry] // unanswered
	held      list[entry] // answered, with an unanswered predecessor; fewer than Window, since that counts from the oldest unanswered, and those given up
	next      *entry      // the first pending one
	positions uint64      // given out so far

	turn hook[strand] // among its session's turns, while next may be sent
}

// strandID finds a strand.
type strandID struct {
	session *session
	epoch   uint64
}

// strand returns the one of a session and association, a new one if need be.
func (c *Core) strand(s *session, epoch uint64) *strand {
	id := strandID{s, epoch}
	if st := c.strands[id]; st != nil {
		return st
	}

	var st *strand
	if n := len(c.idleStrands); n > 0 {
		st = c.idleStrands[n-1]
		c.idleStrands = c.idleStrands[:n-1]
	} else {
		st = &strand{}
		st.turn.item = st
	}

	st.session, st.epoch = s, epoch
	c.strands[id] = st

	return st
}

// changed gives a strand its place among the turns of its session, or takes it, after
// its unanswered or pending messages changed. One without a message is forgotten.
func (c *Core) changed(st *strand) {
	switch {
	case st.entries.len() == 0:
		delete(c.strands, strandID{st.session, st.epoch})
		st.turn.remove()

		st.session, st.epoch, st.next, st.positions = nil, 0, nil, 0
		c.idleStrands = append(c.idleStrands, st)
	case !st.sendable(c.cfg.Window):
		st.turn.remove()
	case !st.turn.linked():
		st.session.turns.pushBack(&st.turn)
	}
}

// sendable tells that the next message may be sent besides those in flight.
//
// The window counts from the oldest unanswered message, answered ones in between
// included: a processor's reply ring must still hold the reply of the oldest. A message
// that may be given up goes alone: it may also be refused, leave no mark, and with it
// a gap before what follows.
func (st *strand) sendable(window int) bool {
	e := st.next
	if e == nil {
		return false
	}

	p := e.predecessor()
	if p == nil {
		return true
	}

	return !e.message.mortal() && !p.message.mortal() &&
		e.position-st.entries.front().position < uint64(window) //nolint:gosec // positive
}

// add appends a message that came.
func (st *strand) add(e *entry) {
	e.strand, e.position = st, st.positions
	st.positions++
	st.entries.pushBack(&e.inStrand)

	if st.next == nil {
		st.next = e
	}
}

// rewind makes a message that was in flight the next one, before the turns of all others.
func (st *strand) rewind(e *entry) {
	st.next = e
	st.turn.remove()
	st.session.turns.pushFront(&st.turn)
}
