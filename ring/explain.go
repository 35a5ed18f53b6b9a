package ring

import "slices"

// Explanation is a pick, step by step. Nodes are indexes, with their ids beside them.
type Explanation struct {
	Query Query `json:"query"`
	// RoomIgnored says of a first pick that all nodes that it may take are full, so that it was made as a later one is.
	RoomIgnored bool `json:"roomIgnored"`
	// Probes are the home and what was looked at of the key's chain, in order. Where Choice.How is Home or Chain, those whose Skip is
	// Taken are of the node taken; there may be more than one of a node. There are none in a ring without nodes.
	Probes []Probe `json:"probes"`
	// Spill is how a node was drawn by rank, nil where it did not come to that.
	Spill *Rank `json:"spill,omitempty"`
	// Candidates are all nodes as the last resort sees them, by index; none where it did not come to that.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Choice is what was taken, and how; ID is that of its node, empty for none.
	Choice Choice `json:"choice"`
	ID     string `json:"id"`
}

// Probe is a look at the owner of a slot.
type Probe struct {
	Slot int    `json:"slot"`
	Node int    `json:"node"`
	ID   string `json:"id"`
	Skip Skip   `json:"skip"`
	// Weight is that of the chain's candidates, the first two nodes on it that could be taken, as in Candidate; nil for the others.
	Weight *float64 `json:"weight,omitempty"`
}

// Rank is a draw among the nodes that may be taken, each as often as it has slots (but at least once), in order of their indexes.
type Rank struct {
	Rank uint64 `json:"rank"` // 0..Of-1
	Of   uint64 `json:"of"`   // slots of all of them, without the node avoided
	Node int    `json:"node"`
	ID   string `json:"id"`
}

// Candidate is a node as the last resort sees it.
type Candidate struct {
	Node     int     `json:"node"`
	ID       string  `json:"id"`
	State    State   `json:"state"`
	InFlight uint32  `json:"inFlight"`
	Limit    uint32  `json:"limit"`
	HardCap  uint32  `json:"hardCap"`
	Pressure float64 `json:"pressure"` // 1 at a threshold, may be more
	Weight   float64 `json:"weight"`   // 1 - max(pressure, (inFlight+1)/limit), may be negative; -math.MaxFloat64 where the limit is 0
	Skip     Skip    `json:"skip"`
}

// Explain makes a pick and tells of each of its steps. The choice is that of Choose, and so of Pick and PickNew, at one
// moment: states do not change until it is made, and it goes by the loads that it shows, which may. It allocates: it is for people who ask, not for
// each message.
func (r *Ring) Explain(q Query) Explanation {
	r.writer.Lock()
	defer r.writer.Unlock()

	e := Explanation{Query: q, Choice: Choice{Node: NoNode, How: None, Probes: chainProbes}}

	// From here on q is what the nodes were judged by.
	if q.Occasion == First && r.pool(q).without(q.Avoid) == 0 {
		q.Occasion = Repeat
		e.RoomIgnored = r.pool(q).without(q.Avoid) > 0
	}

	if len(r.nodes) > 0 {
		r.explainProbes(&e, q)
	}

	if e.Choice.How == None {
		r.explainSpill(&e, q)
	}

	if e.Choice.How == None {
		r.explainResort(&e, q)
	}

	if e.Choice.Node != NoNode {
		e.ID = r.nodes[e.Choice.Node].ID
	}

	return e
}

// explainProbes looks at the home, and at the chain until two nodes may be taken.
func (r *Ring) explainProbes(e *Explanation, q Query) {
	x := q.Hash * golden

	var candidates []int

	for probe := range uint8(1 + chainProbes) {
		slot := r.slot(x)
		n := r.Owner(slot)
		skip := r.skip(n, q)
		e.Probes = append(e.Probes, Probe{Slot: slot, Node: n, ID: r.nodes[n].ID, Skip: skip})

		if skip == Taken && probe == 0 {
			e.Choice = Choice{Node: n}

			return
		}

		if skip == Taken && !slices.Contains(candidates, n) {
			candidates = append(candidates, n)
			e.Choice = Choice{How: Chain, Probes: chainProbes}
		}

		if len(candidates) == 2 {
			e.Choice.Probes = probe

			break
		}

		x *= golden
	}

	if e.Choice.How == Chain {
		e.Choice.Node = r.explainWeights(e.Probes, candidates)
	}
}

// explainWeights compares the candidates of a chain, one or two, notes at their probes how they did, and returns the one that is taken.
func (r *Ring) explainWeights(probes []Probe, candidates []int) (taken int) {
	uses := make([]use, len(candidates))
	best := 0

	for c, n := range candidates {
		uses[c] = r.loads[n].use()
		if uses[c].less(uses[best]) {
			best = c
		}
	}

	for i := range probes {
		c := slices.Index(candidates, probes[i].Node)
		if c < 0 {
			continue
		}

		weight := uses[c].weight()
		probes[i].Weight = &weight

		if c != best {
			probes[i].Skip = LessWeight
		}
	}

	return candidates[best]
}

// explainSpill draws by rank, where there is any.
func (r *Ring) explainSpill(e *Explanation, q Query) {
	x := q.Hash * golden
	for range chainProbes {
		x *= golden
	}

	p := r.pool(q)

	rank, of := p.rank(x, q.Avoid)
	if of == 0 {
		return
	}

	n := p.descend(rank, q.Avoid)
	e.Spill = &Rank{Rank: rank, Of: of, Node: n, ID: r.nodes[n].ID}
	e.Choice = Choice{Node: n, How: Spill, Probes: chainProbes}
}

// explainResort tells of all nodes before the last resort, which takes one of them or none.
func (r *Ring) explainResort(e *Explanation, q Query) {
	taken, least := NoNode, use{}
	e.Candidates = make([]Candidate, len(r.nodes))

	for i := range e.Candidates {
		c, u := r.candidate(i, q)
		if c.Skip == LessWeight && (taken == NoNode || u.less(least)) {
			taken, least = i, u
		}

		e.Candidates[i] = c
	}

	if taken == NoNode && q.Avoid >= 0 && q.Avoid < len(e.Candidates) && e.Candidates[q.Avoid].Skip == Avoided {
		taken = q.Avoid
	}

	if taken != NoNode {
		e.Candidates[taken].Skip = Taken
		e.Choice = Choice{Node: taken, How: BestWeight, Probes: chainProbes}
	}
}

// candidate is a node as the last resort sees it: Avoided or LessWeight where it may be taken.
func (r *Ring) candidate(i int, q Query) (Candidate, use) {
	inFlight, limit, hardCap := r.Load(i)
	pressure := r.loads[i].pressure.Load()
	u := useOf(inFlight, limit, pressure)

	c := Candidate{
		Node: i, ID: r.nodes[i].ID, State: r.State(i), InFlight: inFlight, Limit: limit, HardCap: hardCap,
		Pressure: float64(pressure) / onePressure, Weight: u.weight(), Skip: LessWeight,
	}

	switch {
	case c.State == Ineligible:
		c.Skip = NotEligible
	case q.Urgency != Emergency && inFlight >= hardCap:
		c.Skip = HardCapped
	case i == q.Avoid:
		c.Skip = Avoided
	}

	return c, u
}
