package ring

import "strconv"

// chainProbes is how many slots of a key's chain are tried after its home.
const chainProbes = 8

// How says by which step a pick found its node.
type How uint8

const (
	// Home is the owner of the key's slot.
	Home How = iota
	// Chain is the owner of a later slot of the key's chain.
	Chain
	// Spill is an open node by rank, as no probe of the chain met one.
	Spill
	// BestWeight is, where no node is open, the least loaded one below its hard cap.
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

// Choice is the result of a pick.
type Choice struct {
	Node   int   // index of the node, NoNode where How is None
	How    How   // the step that found it
	Probes uint8 // slots looked at after the home: 0 for Home, 1..8 for Chain, 8 for the others, which rule all slots out
}

// Pick chooses the node of a key by the key's hash, in the steps that the package's
// documentation shows. The node with index avoid counts as not open, and the last
// resort takes it only where there is no other: callers name there a node they just
// gave up on, or NoNode. It does not allocate, and with the same states, loads and
// table it returns the same on every machine.
func (r *Ring) Pick(hash uint64, avoid int) Choice {
	x := hash * golden
	if n := r.owners[x>>(r.shift&63)]; int(n) != avoid && r.isOpen(n) {
		return Choice{Node: int(n)}
	}

	return r.chain(x, avoid)
}

// chain follows the key's chain from x, the key's place on the ring, and goes on to the
// later steps when it ends.
func (r *Ring) chain(x uint64, avoid int) Choice {
	if r.weights[1].Load() == 0 { // none is open: do not look
		return r.unopened(avoid)
	}

	for probe := uint8(1); probe <= chainProbes; probe++ {
		x *= golden
		if n := r.owners[x>>(r.shift&63)]; int(n) != avoid && r.isOpen(n) {
			return Choice{Node: int(n), How: Chain, Probes: probe}
		}
	}

	if n := r.spill(x, avoid); n != NoNode {
		return Choice{Node: n, How: Spill, Probes: chainProbes}
	}

	return r.unopened(avoid)
}

// unopened is the choice where no node is open, but for avoid.
func (r *Ring) unopened(avoid int) Choice {
	if n := r.lastResort(avoid); n != NoNode {
		return Choice{Node: n, How: BestWeight, Probes: chainProbes}
	}

	return Choice{Node: NoNode, How: None, Probes: chainProbes}
}

// Home returns the node that owns the slot of a key's hash, whatever its state, and
// NoNode in a ring without nodes.
func (r *Ring) Home(hash uint64) int { return r.Owner(int(hash * golden >> (r.shift & 63))) }
