package routing

// parking holds the sessions that no node had room for. Associations take turns, so that
// one which floods waits behind itself and not before the others; the sessions of one
// association are served in the order in which they came.
type parking struct {
	sources map[uint64]*source // by epoch
	turns   list[source]       // the next one first
	idle    []*source
	n       int
}

// source are the parked sessions of one association, by the strand that had its turn first.
type source struct {
	epoch    uint64
	sessions list[session]
	turn     hook[source]
}

func (p *parking) len() int { return p.n }

// add parks a session that is not parked.
func (p *parking) add(s *session) {
	epoch := s.turns.front().epoch

	of := p.sources[epoch]
	if of == nil {
		of = p.source(epoch)
		p.turns.pushBack(&of.turn)
	}

	s.source = of
	of.sessions.pushBack(&s.parked)
	p.n++
}

func (p *parking) source(epoch uint64) *source {
	var of *source
	if n := len(p.idle); n > 0 {
		of = p.idle[n-1]
		p.idle = p.idle[:n-1]
	} else {
		of = &source{}
		of.turn.item = of
	}

	of.epoch = epoch
	p.sources[epoch] = of

	return of
}

// remove takes a session out that may be parked.
func (p *parking) remove(s *session) {
	of := s.source
	if of == nil {
		return
	}

	s.source = nil
	s.parked.remove()
	p.n--

	if of.sessions.len() == 0 {
		of.turn.remove()
		delete(p.sources, of.epoch)
		p.idle = append(p.idle, of)
	}
}

// first is the session whose turn it is, nil: none is parked.
func (p *parking) first() *session {
	if of := p.turns.front(); of != nil {
		return of.sessions.front()
	}

	return nil
}

// take takes the first session out: then it is the next association's turn.
func (p *parking) take() {
	of := p.turns.front()
	of.turn.remove()
	p.turns.pushBack(&of.turn)
	p.remove(of.sessions.front())
}
