package simulate

// peak is the largest density of Beta(3,4), at 0.4.
const peak = 60 * 0.4 * 0.4 * 0.6 * 0.6 * 0.6

// startArrivals makes the first event of each part of Config.Arrivals.
func (s *simulation) startArrivals() {
	a := s.cfg.Arrivals
	if a.Rate > 0 {
		s.schedule(arrives, nobody, exponential(s.arrivals, a.Rate))
	}

	if a.Burst > 0 {
		s.schedule(bursts, nobody, int64(a.BurstAt)+s.untilBurst())
	}

	for u := range a.Users {
		s.schedule(thinks, int32(u), s.think())
	}
}

// untilBurst is the time to the next candidate of the burst: they come at the rate of its peak, and as many are taken as the density says
// (P. A. W. Lewis, G. S. Shedler, "Simulation of nonhomogeneous Poisson processes by thinning", 1979).
func (s *simulation) untilBurst() int64 {
	a := s.cfg.Arrivals

	return exponential(s.arrivals, peak*a.Burst/a.BurstFor.Seconds())
}

func (s *simulation) think() int64 { return exponential(s.arrivals, 1/s.cfg.Arrivals.Think.Seconds()) }

// arrive takes a message in, and makes the event of the one after.
func (s *simulation) arrive(e *event) {
	a := s.cfg.Arrivals

	if e.kind == thinks {
		s.come(e.subject, e.subject)

		return
	}

	if e.kind == bursts {
		x := float64(s.now-int64(a.BurstAt)) / float64(a.BurstFor)
		if x >= 1 {
			return
		}

		s.schedule(bursts, nobody, s.now+s.untilBurst())

		if s.arrivals.Float64()*peak >= 60*x*x*(1-x)*(1-x)*(1-x) {
			return
		}
	} else {
		s.schedule(arrives, nobody, s.now+exponential(s.arrivals, a.Rate))
	}

	s.come(int32(s.stations.popularity.draw(s.ranks)-1), nobody)
}

// come puts a message of the station of a rank into the system.
func (s *simulation) come(rank, user int32) {
	var i int32
	if last := len(s.unused) - 1; last >= 0 {
		i, s.unused = s.unused[last], s.unused[:last]
	} else {
		i = int32(len(s.messages))
		s.messages = append(s.messages, message{})
	}

	m := &s.messages[i]
	*m = message{
		arrived: s.now,
		work:    s.service.draw(s.work),
		rank:    rank,
		node:    nobody,
		avoid:   nobody,
		user:    user,
		serial:  m.serial,
		inUse:   true,
	}
	m.station = s.stations.station(int(rank))
	m.dispatcher = int32(s.stations.association(m.station) % uint64(len(s.dispatchers)))

	s.tally.come(m, s.now)
	s.submit(i)
}

// leaveSystem frees the place of a message; who waits for it thinks and sends another.
func (s *simulation) leaveSystem(i int32) {
	m := &s.messages[i]
	m.serial++
	m.inUse = false
	s.unused = append(s.unused, i)

	if m.user != nobody {
		s.schedule(thinks, m.user, s.now+s.think())
	}
}
