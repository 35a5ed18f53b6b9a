package ring_test

import (
	"fmt"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// A ring is used through a pointer that its owner replaces. What is known of the nodes goes over to the new ring before
// it is published; indexes may have changed, ids have not.
func Example() {
	var current atomic.Pointer[ring.Ring]

	nodes := []ring.Node{{ID: "p1", Capacity: 1000}, {ID: "p2", Capacity: 1000}, {ID: "p3", Capacity: 3000}}

	first, err := ring.Build(nodes, ring.DefaultConfig())
	if err != nil {
		fmt.Println(err)

		return
	}

	current.Store(first)

	key := xxh3.HashString("a session")
	home := first.Pick(key, ring.NoNode)
	fmt.Println(first.Node(home.Node).ID, home.How)

	first.SetState(home.Node, ring.AtLimit)
	first.SetLoad(2, 2500, 3000, 6000) // p3 is busy

	other := first.Pick(key, ring.NoNode)
	fmt.Println(first.Node(other.Node).ID, other.How)

	next, err := ring.Build(append(nodes, ring.Node{ID: "p0", Capacity: 1000}), ring.DefaultConfig())
	if err != nil {
		fmt.Println(err)

		return
	}

	for i := range first.Len() {
		if j, stays := next.Index(first.Node(i).ID); stays {
			inFlight, limit, hardCap := first.Load(i)
			next.SetLoad(j, inFlight, limit, hardCap)
			next.SetPressure(j, first.Pressure(i))
			next.SetFull(j, first.Occupancy(i))
			next.SetState(j, first.State(i))
		}
	}

	current.Store(next)

	choice := current.Load().Pick(key, ring.NoNode)
	fmt.Println(next.Node(choice.Node).ID, choice.How)

	// Output:
	// p2 home
	// p1 chain
	// p1 chain
}
