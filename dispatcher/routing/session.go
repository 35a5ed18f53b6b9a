package routing

import (
	"skyring/ring"
)

// session is a key with unanswered messages. It is in exactly one of three states:
//
//	bound    some of its messages are assigned to one node
//	parked   no node had room for it
//	waiting  its retry is due later
//
// The assigned messages are always the first ones, in order of arrival.
type session struct {
	key  string
	hash uint64

	entries   list[entry] // unanswered
	held      list[entry] // answered, with an unanswered predecessor; fewer than Window, since that counts from the oldest unanswered
	next      *entry      // the first pending one
	positions uint64      // given out so far
	flying    int         // entries that are assigned or written

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

	s.key, s.hash = string(m.Key), m.Hash
	c.sessions[s.key] = s

	return s
}

// release forgets a session that has no message any more.
func (c *Core) release(s *session) {
	delete(c.sessions, s.key)
	s.unbind()
	c.parked.remove(s)
	s.wait.place.remove()

	s.key, s.hash, s.next = "", 0, nil
	s.positions, s.tries, s.again, s.waiting = 0, 0, 0, false
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
	if s.waiting || s.parked.linked() || s.next == nil {
		return
	}

	if s.node != nil {
		if s.node.open() && c.parked.len() == 0 {
			c.feed(s, false)
		}

		if s.flying > 0 {
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

// pick binds a session to a node that the ring picks, false: there is none.
func (c *Core) pick(s *session, avoid *node) bool {
	if !c.connected || c.ring == nil {
		return false
	}

	not := ring.NoNode
	if avoid != nil {
		not = avoid.ringIndex
	}

	choice := c.ring.Pick(s.hash, not)
	if choice.Node == ring.NoNode {
		return false
	}

	c.counts.Picks[choice.How]++
	s.bind(c.byRing[choice.Node])

	return true
}

// feed assigns pending messages of a bound session to its node, within the window
// and while the node has room; the first one goes in any case where must is set.
//
// The window counts from the oldest unanswered message, answered ones in between
// included: a processor's reply ring must still hold the reply of the oldest.
func (c *Core) feed(s *session, must bool) {
	oldest := s.entries.front().position

	for e := s.next; e != nil && e.position-oldest < uint64(c.cfg.Window); e = s.next { //nolint:gosec // positive
		if !must && !s.node.open() {
			return
		}

		c.assign(e, s.node)

		must = false
	}
}

// assign puts the session's first pending message into a node's outbox.
func (c *Core) assign(e *entry, n *node) {
	e.place, e.node = assigned, n
	e.session.flying++
	e.session.next = e.inSession.after()

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
	e.session.flying--
	n.load(-1, -e.size())
	n.refresh(c)
}

// recallAll makes all messages of a session pending and unbinds it.
func (c *Core) recallAll(s *session) {
	for e := s.entries.front(); e != nil && e.place != pending; e = e.inSession.after() {
		c.recall(e)
	}

	s.next = s.entries.front()
	s.unbind()
}

// unpark lets parked sessions in while there is room, association by association.
func (c *Core) unpark() {
	for s := c.parked.first(); s != nil && c.pick(s, nil); s = c.parked.first() {
		c.parked.take()
		c.feed(s, true)
	}
}
