package ring

import "strconv"

// chainProbes is how many slots of a key's chain are tried after its home.
const chainProbes = 8

// How says by which step a pick found its node.
type How uint8

const (
	// Home is the owner of the key's slot.
	Home How = iota
	// Chain is the less used of the first two open nodes on the key's chain.
	Chain
	// Spill is an open node by rank, as no probe of the chain met one.
	Spill
	// BestWeight is, where no node is open, the least used one below its hard cap.
	BestWeight
	// None says that no node may take the message.
	None
)

// String returns the step as operators read it.
func (h How) String() string {
	switch h {
	case Home:
		return "home"
	case Chain:
		return "chain"
	case Spill:
		return "spill"
	case BestWeight:
		return "best-weight"
	case None:
		return "none"
	default:
		return "how " + strconv.Itoa(int(h))
	}
}

// MarshalText makes JSON say what operators read.
func (h How) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Choice is the result of a pick.
type Choice struct {
	Node   int   `json:"node"`   // index of the node, NoNode where How is None
	How    How   `json:"how"`    // the step that found it
	Probes uint8 `json:"probes"` // slots looked at after the home: 0 for Home, 2..8 for Chain, 8 for the others, which rule all slots out
}

// Pick chooses the node of a key by the key's hash, in the steps that the package's
// documentation shows. The node with index avoid counts as not open, and the last
// resort takes it only where there is no other: callers name there a node they just
// gave up on, or NoNode. A home that is open takes its keys whatever its load; of a key's two other candidates the one with the
// larger weight does (SetPressure), so that keys may change between the two. It does not allocate, and with the same states, loads, pressures and
// table it returns the same on every machine. Emergencies and a key's first pick: see Choose.
func (r *Ring) Pick(hash uint64, avoid int) Choice {
	x := hash * golden
	if n := r.owner(x >> (r.shift & 63)); int(n) != avoid && r.pools[openPool].admits(n) {
		return Choice{Node: int(n)}
	}

	return r.away(x, avoid)
}

// away is the choice of a key whose home does not take it.
func (r *Ring) away(x uint64, avoid int) Choice {
	if p := &r.pools[openPool]; !p.empty() { // else do not look
		if choice := r.chain(p, x, avoid); choice.How != None {
			return choice
		}
	}

	return r.resort(avoid, Ordinary)
}

// chain follows the key's chain through a pool from x, the key's place on the ring, to the first two nodes that are in, and spills
// where it meets none; How is None where nobody is in the pool but avoid.
func (r *Ring) chain(p *pool, x uint64, avoid int) Choice {
	first := NoNode

	for probe := uint8(1); probe <= chainProbes; probe++ {
		x *= golden

		owner := r.owner(x >> (r.shift & 63))
		n := int(owner)

		switch {
		case n == avoid || n == first || !p.has(owner):
		case first == NoNode:
			first = n
		default:
			return Choice{Node: r.lessUsed(first, n), How: Chain, Probes: probe}
		}
	}

	if first != NoNode {
		return Choice{Node: first, How: Chain, Probes: chainProbes}
	}

	if n := p.spill(x, avoid); n != NoNode {
		return Choice{Node: n, How: Spill, Probes: chainProbes}
	}

	return Choice{Node: NoNode, How: None, Probes: chainProbes}
}

// resort is the choice where no node may be taken but the best weight or avoid.
func (r *Ring) resort(avoid int, u Urgency) Choice {
	n := NoNode

	switch {
	case u != Emergency:
		n = r.lastResort(avoid)
	case avoid >= 0 && avoid < len(r.nodes) && r.State(avoid) != Ineligible:
		n = avoid // all others are ineligible
	}

	if n == NoNode {
		return Choice{Node: NoNode, How: None, Probes: chainProbes}
	}

	return Choice{Node: n, How: BestWeight, Probes: chainProbes}
}

// Home returns the node that owns the slot of a key's hash, whatever its state, and
// NoNode in a ring without nodes.
func (r *Ring) Home(hash uint64) int { return r.Owner(r.slot(hash * golden)) }

// slot returns the slot of a place on the ring.
func (r *Ring) slot(x uint64) int { return int(x >> (r.shift & 63)) }
