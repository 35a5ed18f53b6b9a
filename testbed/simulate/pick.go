package simulate

import (
	"math"

	"skyring/ring"
)

// submit has a message picked: at once, or when its dispatcher has done those before and this one.
func (s *simulation) submit(i int32) {
	if s.cfg.PickCost == 0 {
		s.pick(i)

		return
	}

	m := &s.messages[i]
	d := &s.dispatchers[m.dispatcher]
	d.free = max(d.free, float64(s.now)) + s.cfg.PickCost
	s.future.push(event{at: int64(math.Ceil(d.free)), message: i, serial: m.serial, kind: picks})
}

// pick sends a message to the node that the policy names, or sheds it. With a window it goes the way of its station's session.
func (s *simulation) pick(i int32) {
	if s.cfg.Window > 0 {
		s.join(i)

		return
	}

	m := &s.messages[i]

	n := s.choose(m, m.avoid)
	if n == nobody {
		s.tally.drop(m, &s.tally.result.Refused, s.now)
		s.leaveSystem(i)

		return
	}

	s.send(i, n)
}

// choose has the policy name a node for a message, nobody where it names none.
func (s *simulation) choose(m *message, avoid int32) int32 {
	d := &s.dispatchers[m.dispatcher]

	q := s.stations.query(m.station)
	q.Avoid = ring.NoNode

	if avoid != nobody {
		q.Avoid = d.index[avoid]
	}

	choice := d.policy.Pick(q)
	s.tally.result.Picks++

	if choice.How == ring.None {
		return nobody
	}

	n := d.members[choice.Node]
	if v := &d.views[n]; v.load.InFlight >= v.load.HardCap {
		return nobody
	}

	return n
}

// send sends a message to a node.
func (s *simulation) send(i, n int32) {
	m := &s.messages[i]
	m.node, m.sent = n, s.now
	if m.picked {
		s.tally.result.Moved++
	} else {
		m.picked = true
		s.tally.picked(m)
	}

	s.dispatchers[m.dispatcher].sent(n)
	s.watch(i)

	if s.cfg.Hop == 0 {
		s.reach(i, m.serial, n)
	} else {
		s.future.push(event{at: s.now + int64(s.cfg.Hop), subject: n, message: i, serial: m.serial, kind: reaches})
	}
}

// reach brings an attempt at a message to a node, where it is lost if that is dead. An attempt that was given up on the way is worked on nevertheless.
func (s *simulation) reach(i int32, serial uint32, at int32) {
	n := &s.nodes[at]
	if !n.present {
		return
	}

	n.taken++

	j := job{message: i, serial: serial, lane: s.lane(n, i), work: s.messages[i].work}
	if l := &n.lanes[j.lane]; l.busy < l.workers {
		s.begin(at, j)
	} else {
		l.queue.push(j)
		n.queued++
	}
}

// lane is in which of a node's queues a message is: by its station's hash, as a processor has it.
func (s *simulation) lane(n *node, i int32) uint8 {
	if len(n.lanes) == 1 {
		return 0
	}

	return uint8(s.stations.query(s.messages[i].station).Hash >> 32 % uint64(len(n.lanes))) //nolint:gosec // maxLanes at most
}

// begin puts a worker of a node on a job.
func (s *simulation) begin(at int32, j job) {
	n := &s.nodes[at]
	n.account(s.now)
	n.busy++
	n.lanes[j.lane].busy++
	s.future.push(event{at: s.now + n.takes(j), subject: at, message: j.message, serial: j.serial, life: n.life, kind: done, lane: j.lane})
}

// done ends a job: the worker takes the next, the answer goes back.
func (s *simulation) done(e *event) {
	n := &s.nodes[e.subject]
	if n.life != e.life {
		return // died with the node
	}

	n.account(s.now)
	n.busy--
	n.answered++

	l := &n.lanes[e.lane]
	l.busy--

	if l.queue.size > 0 {
		n.queued--
		s.begin(e.subject, l.queue.pop())
	}

	switch {
	case s.cfg.Hop > 0:
		s.future.push(event{at: s.now + int64(s.cfg.Hop), message: e.message, serial: e.serial, kind: answers})
	case s.current(e):
		s.answer(e.message)
	default:
		s.tally.result.Late++
	}
}

// answer ends a message well.
func (s *simulation) answer(i int32) {
	m := &s.messages[i]
	s.dispatchers[m.dispatcher].answered(m.node, s.now-m.sent)
	s.tally.serve(m, s.now)
	s.settled(i)
	s.leaveSystem(i)
}

// watch sets the deadline of the attempt a message is at.
func (s *simulation) watch(i int32) {
	f := s.cfg.Failure
	if f.Deadline == 0 {
		return
	}

	m := &s.messages[i]
	q := &s.deadlines[m.attempt]
	q.push(overdueAt{at: s.now + int64(f.Deadline)<<m.attempt, message: i, serial: m.serial})

	if q.size == 1 {
		s.schedule(overdue, int32(m.attempt), q.front().at)
	}
}

// overdue gives up on attempts whose deadline is there, and waits for the next that is still of use.
func (s *simulation) overdue(attempt int) {
	q := &s.deadlines[attempt]

	for q.size > 0 {
		f := *q.front()
		if s.messages[f.message].serial != f.serial {
			q.pop()

			continue
		}

		if f.at > s.now {
			s.schedule(overdue, int32(attempt), f.at)

			return
		}

		q.pop()
		s.giveUp(f.message)
	}
}

// giveUp ends an attempt that was not answered in time: another node is picked, unless there were enough attempts.
func (s *simulation) giveUp(i int32) {
	m := &s.messages[i]
	if s.cfg.Window > 0 {
		s.moveLate(i)

		return
	}

	s.dispatchers[m.dispatcher].gaveUp(m.node)
	m.avoid, m.node = m.node, nobody
	m.serial++
	m.attempt++

	if int(m.attempt) >= s.cfg.Failure.Attempts {
		s.tally.drop(m, &s.tally.result.Expired, s.now)
		s.leaveSystem(i)

		return
	}

	s.submit(i)
}
