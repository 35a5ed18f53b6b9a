package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/zeebo/xxh3"

	"skyring/protocol/key"
	"skyring/ring"
	"skyring/ring/policy"
)

// movedIDs bounds their ids, which are drawn anew for each seed.
const movedIDs = 1 << 32

// moved is the share of stations whose node under no load differs between the members before and after the first event that adds or
// removes one, and the share that has to: the capacity of that node over that of all with it. It is found with stations of its own, many
// and drawn by the seed, as those of the run may be too few to tell. Zeros: there is no such event.
func moved(c Config) (share, ideal float64, err error) {
	first := firstChange(c.Events)
	if first == nil {
		return 0, 0, nil
	}

	member := make([]bool, len(c.Nodes))
	for i, n := range c.Nodes {
		member[i] = !n.Absent
	}

	before, of, err := picker(c, member)
	if err != nil {
		return 0, 0, err
	}

	member[first.Node] = first.Change == Added

	after, to, err := picker(c, member)
	if err != nil {
		return 0, 0, err
	}

	r := rand.New(rand.NewPCG(c.Seed, 0)) //nolint:gosec // a simulation, no secrets
	differ := 0

	var k []byte

	for range c.MovedSample {
		station := 1 + r.Uint64N(movedIDs)
		k = key.Station(k[:0], station)
		q := policy.Query{Hash: xxh3.Hash(k), Number: station, Source: station, Avoid: ring.NoNode}

		a, b := before.Pick(q), after.Pick(q)
		if a.Node == ring.NoNode || b.Node == ring.NoNode || of[a.Node] != to[b.Node] {
			differ++
		}
	}

	var all uint64
	for i, n := range c.Nodes {
		if member[i] || i == first.Node {
			all += uint64(n.Capacity)
		}
	}

	return float64(differ) / float64(c.MovedSample), float64(c.Nodes[first.Node].Capacity) / float64(all), nil
}

// firstChange is the earliest event that adds or removes a node, the first in the list of those of one time.
func firstChange(events []Event) *Event {
	var first *Event

	for i := range events {
		if e := &events[i]; e.Change != Slowed && (first == nil || e.At < first.At) {
			first = e
		}
	}

	return first
}

// picker is a policy over the members, all open and idle, and the node of each of its indexes.
func picker(c Config, member []bool) (policy.Policy, []int, error) { //nolint:ireturn // which policy is the question
	var (
		set []ring.Node
		of  []int
	)

	for i, n := range c.Nodes {
		if member[i] {
			set = append(set, ring.Node{ID: id(int32(i)), Capacity: n.Capacity})
			of = append(of, i)
		}
	}

	o := c.Options
	o.Seed = ring.Scramble(c.Seed)

	p, err := policy.New(c.Policy, set, o)
	if err != nil {
		return nil, nil, fmt.Errorf("make the policy for %d nodes: %w", len(set), err)
	}

	return p, slices.Clip(of), nil
}
