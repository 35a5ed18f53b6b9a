package ring

// Explanation is a pick, step by step. Nodes are indexes, with their ids beside them.
type Explanation struct {
	Query Query `json:"query"`
	// RoomIgnored says of a first pick that all nodes that it may take are full, so that it was made as a later one is.
	RoomIgnored bool `json:"roomIgnored"`
	// Probes are the home and what was looked at of the key's chain, in order. The last one was taken where Choice.How
	// is Home or Chain. There are none in a ring without nodes.
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
// moment: writers wait until it is made. It allocates: it is for people who ask, not for each message.
func (r *Ring) Explain(q Query) Explanation {
	r.writer.Lock()
	defer r.writer.Unlock()

	e := Explanation{Query: q, Choice: r.Choose(q)}
	if e.Choice.Node != NoNode {
		e.ID = r.nodes[e.Choice.Node].ID
	}

	// From here on q is what the nodes were judged by.
	if q.Occasion == First && r.pool(q).without(q.Avoid) == 0 {
		q.Occasion = Repeat
		e.RoomIgnored = r.pool(q).without(q.Avoid) > 0
	}

	if len(r.nodes) > 0 {
		e.Probes = r.explainProbes(q)
	}

	switch e.Choice.How {
	case Home, Chain:
	case Spill:
		e.Spill = r.explainSpill(q)
	case BestWeight, None:
		e.Candidates = r.explainCandidates(q, e.Choice.Node)
	}

	return e
}

// explainProbes looks at home and chain until a node may be taken.
func (r *Ring) explainProbes(q Query) []Probe {
	x := q.Hash * golden
	probes := make([]Probe, 0, 1+chainProbes)

	for range 1 + chainProbes {
		slot := r.slot(x)
		n := r.Owner(slot)
		skip := r.skip(n, q)
		probes = append(probes, Probe{Slot: slot, Node: n, ID: r.nodes[n].ID, Skip: skip})

		if skip == Taken {
			break
		}

		x *= golden
	}

	return probes
}

// explainSpill draws once more; no writer interferes.
func (r *Ring) explainSpill(q Query) *Rank {
	x := q.Hash * golden
	for range chainProbes {
		x *= golden
	}

	p := r.pool(q)
	rank, of := p.rank(x, q.Avoid)
	n := p.descend(rank, q.Avoid)

	return &Rank{Rank: rank, Of: of, Node: n, ID: r.nodes[n].ID}
}

// explainCandidates tells of all nodes before the last resort, which took one of them or none.
func (r *Ring) explainCandidates(q Query, taken int) []Candidate {
	out := make([]Candidate, len(r.nodes))

	for i := range out {
		inFlight, limit, hardCap := r.Load(i)
		out[i] = Candidate{
			Node: i, ID: r.nodes[i].ID, State: r.State(i), InFlight: inFlight, Limit: limit, HardCap: hardCap,
			Pressure: r.Pressure(i), Weight: r.loads[i].weight(), Skip: LessWeight,
		}

		switch {
		case i == taken:
			out[i].Skip = Taken
		case out[i].State == Ineligible:
			out[i].Skip = NotEligible
		case q.Urgency != Emergency && r.loads[i].capped():
			out[i].Skip = HardCapped
		case i == q.Avoid:
			out[i].Skip = Avoided
		}
	}

	return out
}
