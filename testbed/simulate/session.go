package simulate

import "slices"

// session is a station with messages in the system, kept as a dispatcher does (dispatcher/routing): those in flight are all at one node, and what comes
// meanwhile goes there too, or waits.
type session struct {
	rank      int32       // of its station
	node      int32       // that it is bound to, nobody: to none
	flying    []int32     // messages in flight, in the order they were sent
	waiting   fifo[int32] // messages yet to be sent
	positions uint32      // messages that came
	parked    bool        // among those that no node takes
}

// sessions are those of all stations with messages in the system. A station has one dispatcher, so that sessions are of one, too.
type sessions struct {
	byRank map[int32]*session
	idle   []*session
}

func (s *sessions) of(rank int32) *session {
	if one := s.byRank[rank]; one != nil {
		return one
	}

	one := &session{}
	if last := len(s.idle) - 1; last >= 0 {
		one, s.idle = s.idle[last], s.idle[:last]
	}

	one.rank, one.node, one.positions = rank, nobody, 0
	s.byRank[rank] = one

	return one
}

// oldest is the message of a session that came first; there has to be one.
func (one *session) oldest() int32 {
	if len(one.flying) > 0 {
		return one.flying[0]
	}

	return *one.waiting.front()
}

// dispatcherOf is who has a session, which has a message.
func (s *simulation) dispatcherOf(one *session) *dispatcher {
	return &s.dispatchers[s.messages[one.oldest()].dispatcher]
}

// join takes a message into its station's session.
func (s *simulation) join(i int32) {
	m := &s.messages[i]
	one := s.sessions.of(m.rank)
	m.position, m.overlaps = one.positions, len(one.flying)+one.waiting.size > 0
	one.positions++
	one.waiting.push(i)
	s.advance(one)
}

// advance sends what may be sent of a session: to the node that has its others, as long as that takes any and nobody waits for a node; once it has
// nothing in flight, to the one that is picked.
func (s *simulation) advance(one *session) {
	if one.parked || one.waiting.size == 0 {
		return
	}

	if one.node != nobody {
		d := s.dispatcherOf(one)
		for d.parked.size == 0 && d.takes(one.node) && s.sendNext(one) {
		}

		if len(one.flying) > 0 {
			return
		}
	}

	s.launch(one, nobody)
}

// launch has a node picked for a session without a message in flight, or parks it behind those that wait for one.
func (s *simulation) launch(one *session, avoid int32) {
	d := s.dispatcherOf(one)
	if d.parked.size > 0 || !s.bind(one, avoid) {
		one.node, one.parked = nobody, true
		d.parked.push(one)
	}
}

// bind has a node picked for a session and sends what may be sent of it. false: no node takes it.
func (s *simulation) bind(one *session, avoid int32) bool {
	n := s.choose(&s.messages[one.oldest()], avoid)
	if n == nobody {
		return false
	}

	one.node = n
	s.sendNext(one) // the first in any case, a last resort is at its limit

	for d := s.dispatcherOf(one); d.takes(n) && s.sendNext(one); {
	}

	return true
}

// sendNext sends a session's next message to its node. false: it has none, or its window is full.
func (s *simulation) sendNext(one *session) bool {
	if one.waiting.size == 0 {
		return false
	}

	next := *one.waiting.front()
	if s.messages[next].position-s.messages[one.oldest()].position >= uint32(s.cfg.Window) { //nolint:gosec // maxWindow at most
		return false
	}

	one.waiting.pop()
	one.flying = append(one.flying, next)
	s.send(next, one.node)

	return true
}

// unpark lets sessions in that wait for a node, the first one first, while one is found.
func (s *simulation) unpark(d *dispatcher) {
	for d.parked.size > 0 {
		one := *d.parked.front()
		if !s.bind(one, nobody) {
			return
		}

		one.parked = false
		d.parked.pop()
	}
}

// settled takes a message that was answered out of its session, which goes on.
func (s *simulation) settled(i int32) {
	if s.cfg.Window == 0 {
		return
	}

	m := &s.messages[i]
	one := s.sessions.byRank[m.rank]
	at := slices.Index(one.flying, i)
	one.flying = slices.Delete(one.flying, at, at+1)
	s.proceed(one)
	s.unpark(&s.dispatchers[m.dispatcher])
}

// proceed lets a session go on, or forgets it when it has no message.
func (s *simulation) proceed(one *session) {
	if len(one.flying)+one.waiting.size > 0 {
		s.advance(one)

		return
	}

	delete(s.sessions.byRank, one.rank)
	s.sessions.idle = append(s.sessions.idle, one)
}

// moveLate moves a session of which a message was not answered in time. That message is given up on after its last attempt.
func (s *simulation) moveLate(i int32) {
	m := &s.messages[i]
	one := s.sessions.byRank[m.rank]
	d := &s.dispatchers[m.dispatcher]
	from := one.node

	for _, j := range one.flying {
		if j == i {
			d.gaveUp(from)
		} else {
			d.recalled(from)
			s.messages[j].attempt = min(s.messages[j].attempt+1, uint8(s.cfg.Failure.Attempts-1)) //nolint:gosec // maxAttempts at most
		}
	}

	m.attempt++
	s.recall(one)

	if int(m.attempt) >= s.cfg.Failure.Attempts {
		s.expire(one, i)
	}

	if one.waiting.size > 0 {
		s.launch(one, from)
	} else {
		s.proceed(one)
	}

	s.unpark(d)
}

// moveAll moves a session off a node that is gone.
func (s *simulation) moveAll(one *session) {
	for range one.flying {
		s.dispatcherOf(one).gaveUp(one.node)
	}

	s.recall(one)
	s.launch(one, nobody)
}

// recall has all that a session has in flight wait to be sent again, in order. Whatever becomes of these attempts is late.
func (s *simulation) recall(one *session) {
	for _, i := range slices.Backward(one.flying) {
		s.messages[i].node = nobody
		s.messages[i].serial++
		one.waiting.pushFront(i)
	}

	one.flying, one.node = one.flying[:0], nobody
}

// expire drops a message of a session that waits.
func (s *simulation) expire(one *session, i int32) {
	for range one.waiting.size { // once round, so that the order stays
		if j := one.waiting.pop(); j != i {
			one.waiting.push(j)
		}
	}

	s.tally.drop(&s.messages[i], &s.tally.result.Expired, s.now)
	s.leaveSystem(i)
}
