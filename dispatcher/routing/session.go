package routing

// session is a key with unanswered messages. It is in exactly one of three states:
//
//	bound    some of its messages are assigned to one node
//	parked   no node had room for it
//	waiting  its retry is due later
type session struct {
	key    string
	hash   uint64
	number uint64 // as Message.Number

	unanswered int          // messages
	turns      list[strand] // those that have a message to be sent, the next one first
	flying     list[entry]  // assigned or written, in the order in which they were assigned

	node    *node // while bound
	waiting bool
	wait    timer // while waiting
	tries   int   // deadlines passed since the last progress
	again   int   // resends for other reasons since the last progress

	atNode hook[session] // while bound
	parked hook[session] // while parked, in its source
	source *source       // while parked
}

// session returns the one of a key, a new one if need be.
func (c *Core) session(m *Message) *session {
	if s := c.sessions[string(m.Key)]; s != nil {
		return s
	}

	var s *session
	if n := len(c.idle); n > 0 {
		s = c.idle[n-1]
		c.idle = c.idle[:n-1]
	} else {
		s = &session{}
		s.atNode.item = s
		s.parked.item = s
		s.wait.session = s
		s.wait.place.item = &s.wait
	}

	s.key, s.hash, s.number = string(m.Key), m.Hash, m.Number
	c.sessions[s.key] = s

	return s
}

// release forgets a session that has no message any more.
func (c *Core) release(s *session) {
	delete(c.sessions, s.key)
	s.unbind()
	c.parked.remove(s)
	s.wait.place.remove()

	s.key, s.hash, s.number = "", 0, 0
	s.tries, s.again, s.waiting = 0, 0, false
	c.idle = append(c.idle, s)
}

func (s *session) bind(n *node) {
	s.node = n
	n.sessions.pushBack(&s.atNode)
}

func (s *session) unbind() {
	s.node = nil
	s.atNode.remove()
}

// advance sends what may be sent of a session: up to the window to the node that it
// is bound to. Once nothing of it is in flight it leaves a node that takes no more, or
// that others wait for.
func (c *Core) advance(s *session) {
	if s.waiting || s.parked.linked() || s.turns.len() == 0 {
		return
	}

	if s.node != nil {
		if c.takes(s.node) && c.parked.len() == 0 {
			c.feed(s, false)
		}

		if s.flying.len() > 0 {
			return
		}

		s.unbind()
	}

	c.launch(s, nil)
}

// launch binds a session of which nothing is in flight to a node and sends, or parks
// it. Who is parked already has its turn first.
func (c *Core) launch(s *session, avoid *node) {
	if c.parked.len() > 0 || !c.pick(s, avoid) {
		c.counts.Parked++
		c.parked.add(s)

		return
	}

	c.feed(s, true)
}

// feed assigns pending messages of a bound session to its node, strand by strand, within
// the window and while the node has room; the first one goes in any case where must is set.
func (c *Core) feed(s *session, must bool) {
	for st := s.turns.front(); st != nil && s.flying.len() < c.cfg.Window; st = s.turns.front() {
		if !must && !c.takes(s.node) {
			return
		}

		c.assign(st, s.node)

		must = false
	}
}

// assign puts a strand's next message into a node's outbox, and the strand behind the others.
func (c *Core) assign(st *strand, n *node) {
	e := st.next
	e.place, e.node = assigned, n
	st.session.flying.pushBack(&e.inFlight)
	st.next = e.successor()
	st.turn.remove()
	c.changed(st)

	if n.outbox.len() == 0 {
		c.ready = append(c.ready, n)
	}

	n.outbox.pushBack(&e.inOutbox)
	n.load(1, e.size())
	n.refresh(c)
}

// recall makes a message pending again that is in flight. Its node may have it.
func (c *Core) recall(e *entry) {
	n := e.node
	e.inOutbox.remove()
	e.deadline.place.remove()

	if e.place == written {
		n.written--
	}

	if n.probe == e {
		n.probe = nil
	}

	e.place, e.node = pending, nil
	e.inFlight.remove()
	n.load(-1, -e.size())
	n.refresh(c)
}

// recallAll makes all messages of a session pending and unbinds it. Strands that had some
// in flight have their turns first.
func (c *Core) recallAll(s *session) {
	for e := s.flying.back(); e != nil; e = s.flying.back() {
		c.recall(e)
		e.strand.rewind(e)
	}

	s.unbind()
}

// unpark lets parked sessions in while there is room, association by association.
func (c *Core) unpark() {
	for s := c.parked.first(); s != nil && c.pick(s, nil); s = c.parked.first() {
		c.parked.take()
		c.feed(s, true)
	}
}
