package simulate

import (
	"skyring/ring/policy"
)

// change lets an Event happen.
func (s *simulation) change(e Event) error {
	i := int32(e.Node)
	n := &s.nodes[i]

	switch e.Change {
	case Slowed:
		n.factor = e.Factor
	case Lost:
		if n.present {
			n.die(s.now)
			s.future.push(event{at: s.now + int64(s.cfg.Failure.Detection), subject: i, life: n.life - 1, kind: detects})
		}
	case Added:
		if !n.present {
			n.present = true
			n.account(s.now)
			n.beat = snapshot{at: s.now, busyTime: n.busyTime, answered: n.answered, taken: n.taken}
			s.future.push(event{at: s.now, subject: i, life: n.life, kind: reports}) // its first heartbeat
		}
	}

	return nil
}

// beat makes a node's heartbeat and the event of its next.
func (s *simulation) beat(e *event) {
	n := &s.nodes[e.subject]
	if !n.present || n.life != e.life {
		return
	}

	h := s.cfg.Heartbeat
	next := float64(h.Every) * (1 + h.Jitter*(2*s.beats.Float64()-1))
	s.future.push(event{at: s.now + max(1, int64(next)), subject: e.subject, life: n.life, kind: reports})

	p := posted{report: n.report(s.now), node: e.subject, life: n.life}

	place := int32(len(s.post))
	if last := len(s.unposted) - 1; last >= 0 {
		place, s.unposted = s.unposted[last], s.unposted[:last]
		s.post[place] = p
	} else {
		s.post = append(s.post, p)
	}

	s.schedule(hears, place, s.now+int64(h.Delay))
}

// hear brings a heartbeat to all dispatchers. One of a node they do not know makes it a member; one of a new life of a member says that the one before ended.
func (s *simulation) hear(place int32) error {
	p := s.post[place]
	s.unposted = append(s.unposted, place)

	if s.member[p.node] && s.known[p.node] != p.life {
		if p.life < s.known[p.node] {
			return nil // of the life before, late
		}

		if err := s.leave(p.node); err != nil {
			return err
		}
	}

	if !s.member[p.node] {
		if s.nodes[p.node].life != p.life {
			return nil // dead since
		}

		if err := s.admit(p.node, p.life); err != nil {
			return err
		}
	}

	for i := range s.dispatchers {
		s.dispatchers[i].hear(p.node, p.report, s.now)
		s.unpark(&s.dispatchers[i])
	}

	return nil
}

// admit makes a node a member. Of a former one its limit is still known.
func (s *simulation) admit(n int32, life uint16) error {
	s.member[n], s.known[n], s.since[n] = true, life, s.now

	for i := range s.dispatchers {
		v := &s.dispatchers[i].views[n]
		limit, hardCap := v.load.Limit, v.load.HardCap
		*v = view{load: policy.Load{Limit: limit, HardCap: hardCap}, ceiling: v.ceiling, hardCap: v.hardCap, limit: v.limit}
	}

	return s.rebuild()
}

// leave takes a node out of all dispatchers; what it had is picked again.
func (s *simulation) leave(n int32) error {
	s.closeMembership(int(n))
	s.member[n] = false

	if err := s.rebuild(); err != nil {
		return err
	}

	for i := range s.messages {
		m := &s.messages[i]
		if !m.inUse || m.node != n {
			continue
		}

		if s.cfg.Window > 0 {
			s.moveAll(s.sessions.byRank[m.rank])

			continue
		}

		s.dispatchers[m.dispatcher].gaveUp(n)
		m.avoid, m.node = nobody, nobody
		m.serial++
		s.submit(int32(i))
	}

	for i := range s.dispatchers {
		s.unpark(&s.dispatchers[i])
	}

	return nil
}

func (s *simulation) rebuild() error {
	for i := range s.dispatchers {
		if err := s.dispatchers[i].rebuild(s.nodes, s.member); err != nil {
			return err
		}
	}

	return nil
}

// closeMembership counts the time that a node was a member, after the warm-up.
func (s *simulation) closeMembership(n int) {
	if s.member[n] {
		s.tally.membership[n] += max(0, s.now-max(s.since[n], int64(s.cfg.Warmup)))
	}
}
