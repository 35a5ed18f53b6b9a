package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// golden is 2^64 divided by the golden ratio, an odd number: multiplication by it
// modulo 2^64 is a bijection that spreads neighbours far apart.
const golden = 0x9E3779B97F4A7C15

// NoNode stands for no node where an index is expected.
const NoNode = -1

// MaxNodes is the largest number of nodes of a ring, whatever its size.
const MaxNodes = math.MaxUint16

// Node is a processor as the ring sees it.
type Node struct {
	ID       string // not empty, unique in its ring
	Capacity uint32 // its weight in messages per second or any other unit all nodes share; at least 1
}

// Ring maps hashes to nodes. The zero value is of no use: Build makes one. Its methods
// are safe for concurrent use. Methods that take a node's index panic when it is out of
// [0, Len()).
type Ring struct {
	// Static after Build.
	narrow []uint8  // owner of each slot, in rings of at most 256 nodes: half the table is twice as much of it in the nearest cache
	owners []uint16 // the same in larger rings; one of the two is nil. All 0 where there is no node
	shift  uint     // 64 - Config.Bits
	nodes  []Node   // ascending by id
	slots  []uint32 // slots held, per node
	sum    uint64

	// Atomic, see condition.go.
	condition
}

// Build makes the ring of a set of nodes. Nodes are numbered 0, 1, 2, ... in ascending
// byte order of their ids, whatever order they are given in; all of them are Open at
// first. A ring without nodes is allowed: it picks none. With quotas, a node whose fair share rounds to
// no slot has none and is reached by spill alone.
//
// Errors name every node and setting at fault: an empty or repeated id, a capacity of
// 0, more nodes than MaxNodes or slots.
func Build(nodes []Node, cfg Config) (*Ring, error) {
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b Node) int { return strings.Compare(a.ID, b.ID) })

	if err := Validate(sorted, cfg); err != nil {
		return nil, fmt.Errorf("build the ring: %w", err)
	}

	r := &Ring{
		shift: 64 - uint(cfg.Bits),
		nodes: sorted,
		slots: make([]uint32, len(sorted)),
	}
	owners := place(sorted, cfg)

	if len(sorted) > 0 {
		for _, n := range owners {
			r.slots[n]++
		}
	}

	r.sum = checksum(sorted, owners)
	r.keep(owners)
	r.start(sorted, r.slots)

	return r, nil
}

// keep makes owners the table.
func (r *Ring) keep(owners []uint16) {
	if len(r.nodes) > math.MaxUint8+1 {
		r.owners = owners

		return
	}

	r.narrow = make([]uint8, len(owners))
	for s, n := range owners {
		r.narrow[s] = uint8(n)
	}
}

// Validate reports every fault of a configuration and of a set of nodes, which are ascending by id: see Build.
func Validate(nodes []Node, cfg Config) error {
	return errors.Join(cfg.Validate(), validate(nodes, cfg))
}

func validate(nodes []Node, cfg Config) error {
	var faults []error

	if most := min(MaxNodes, 1<<min(cfg.Bits, MaxBits)); len(nodes) > most {
		faults = append(faults, fmt.Errorf("%d nodes: a ring of %d bits takes at most %d", len(nodes), cfg.Bits, most))
	}

	for i, n := range nodes {
		if n.ID == "" {
			faults = append(faults, errors.New("a node has no id"))
		}

		if n.Capacity == 0 {
			faults = append(faults, fmt.Errorf("node %q has capacity 0: at least 1 is needed", n.ID))
		}

		if i > 0 && n.ID == nodes[i-1].ID {
			faults = append(faults, fmt.Errorf("node %q is there twice", n.ID))
		}
	}

	return errors.Join(faults...)
}

// checksum hashes ids (with their lengths, so that they cannot run into each other)
// and owner table.
func checksum(nodes []Node, owners []uint16) uint64 {
	b := make([]byte, 0, 8+24*len(nodes)+2*len(owners)) // enough where ids are short
	b = binary.LittleEndian.AppendUint64(b, uint64(len(nodes)))

	for _, n := range nodes {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(n.ID)))
		b = append(b, n.ID...)
	}

	for _, o := range owners {
		b = binary.LittleEndian.AppendUint16(b, o)
	}

	return xxh3.Hash(b)
}

// Len returns the number of nodes.
func (r *Ring) Len() int { return len(r.nodes) }

// Node returns the node of an index.
func (r *Ring) Node(i int) Node { return r.nodes[i] }

// Index returns the index of the node with an id, and whether there is one.
func (r *Ring) Index(id string) (int, bool) {
	return slices.BinarySearchFunc(r.nodes, id, func(n Node, id string) int { return strings.Compare(n.ID, id) })
}

// Slots returns the number of slots of the ring.
func (r *Ring) Slots() int { return 1 << (64 - r.shift) }

// Owner returns the index of the node that owns a slot in [0, Slots()), NoNode in a
// ring without nodes.
func (r *Ring) Owner(slot int) int {
	if len(r.nodes) == 0 {
		return NoNode
	}

	return int(r.owner(uint64(slot)))
}

// owner returns the owner of a slot, 0 in a ring without nodes. The comparison that chooses the table is the one that guards the access.
func (r *Ring) owner(slot uint64) uint16 {
	if slot < uint64(len(r.narrow)) {
		return uint16(r.narrow[slot])
	}

	return r.owners[slot]
}

// Share returns how many slots a node owns.
func (r *Ring) Share(i int) int { return int(r.slots[i]) }

// Checksum is a hash of the ids and the table: two rings with the same checksum pick
// alike as long as states and loads are alike. It is the same on every machine.
func (r *Ring) Checksum() uint64 { return r.sum }
