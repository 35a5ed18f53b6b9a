package ring

import "strconv"

// Occasion says how often a key was picked for.
type Occasion uint8

const (
	// Repeat picks are for keys that have been picked for before.
	Repeat Occasion = iota
	// First picks give a key a node for the first time: they leave out nodes that have their share of keys, see Ring.SetFull.
	First
)

// String returns the occasion as operators read it.
func (o Occasion) String() string {
	switch o {
	case Repeat:
		return "repeat"
	case First:
		return "first"
	default:
		return "occasion " + strconv.Itoa(int(o))
	}
}

// MarshalText makes JSON say what operators read.
func (o Occasion) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Urgency says what a message may ask of nodes.
type Urgency uint8

const (
	// Ordinary messages go to nodes at their limit only as the last resort.
	Ordinary Urgency = iota
	// Emergency messages ignore saturation: a node at its limit, or at its hard cap, counts as open. An ineligible one never does.
	Emergency
)

// String returns the urgency as operators read it.
func (u Urgency) String() string {
	switch u {
	case Ordinary:
		return "ordinary"
	case Emergency:
		return "emergency"
	default:
		return "urgency " + strconv.Itoa(int(u))
	}
}

// MarshalText makes JSON say what operators read.
func (u Urgency) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Query is what a pick goes by.
type Query struct {
	Hash     uint64   `json:"hash,string"` // of the session key
	Avoid    int      `json:"avoid"`       // index of the node that was just given up on, NoNode for none (not the zero value)
	Occasion Occasion `json:"occasion"`
	Urgency  Urgency  `json:"urgency"`
}

// Choose picks as Pick does, and by occasion and urgency too. With the zero values of both it is Pick. It does not allocate.
func (r *Ring) Choose(q Query) Choice {
	if q.Occasion == First {
		if choice := r.search(r.pool(q), q.Hash, q.Avoid); choice.How != None {
			return choice
		}

		q.Occasion = Repeat
	}

	if choice := r.search(r.pool(q), q.Hash, q.Avoid); choice.How != None {
		return choice
	}

	return r.resort(q.Avoid, q.Urgency)
}

// pool returns the nodes that a pick may take as long as there are any.
func (r *Ring) pool(q Query) *pool {
	k := openPool
	if q.Urgency == Emergency {
		k = eligiblePool
	}

	if q.Occasion == First {
		k++ // openRoomPool, eligibleRoomPool
	}

	return &r.pools[k]
}

// PickNew is the first pick of a key: as Pick, but nodes that are Full count as not open. Where every open
// node is full it is Pick itself. With no node full the two agree.
func (r *Ring) PickNew(hash uint64, avoid int) Choice {
	return r.Choose(Query{Hash: hash, Avoid: avoid, Occasion: First})
}

// search goes from the home on through a pool; How is None where nobody is in it but avoid.
func (r *Ring) search(p *pool, hash uint64, avoid int) Choice {
	x := hash * golden
	if n := r.owner(x >> (r.shift & 63)); int(n) != avoid && p.has(n) {
		return Choice{Node: int(n)}
	}

	if p.empty() { // do not look
		return Choice{Node: NoNode, How: None, Probes: chainProbes}
	}

	return r.chain(p, x, avoid)
}
