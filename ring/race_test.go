package ring_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// stir sets all that can be set of a node from a random number.
func stir(r *ring.Ring, i int, x uint64) {
	r.SetState(i, ring.State(x>>32%3))
	r.SetLoad(i, uint32(x>>40), uint32(x>>20)%1000, uint32(x>>10))
	r.SetPressure(i, float64(x>>50)/1000)
	r.SetFull(i, ring.Occupancy(x>>18&1))
}

// known is what a ring says of itself.
func known(r *ring.Ring) situation {
	s := newSituation(r)

	for i := range r.Len() {
		s.states[i], s.pressures[i], s.full[i] = r.State(i), r.Pressure(i), r.Occupancy(i) == ring.Full
		s.loads[i][0], s.loads[i][1], s.loads[i][2] = r.Load(i)
	}

	return s
}

// queries are many, of all kinds.
func queries(n int, nodes int) []ring.Query {
	out := make([]ring.Query, n)
	for i := range out {
		out[i] = ring.Query{Hash: hashOf(i), Avoid: i%(nodes+1) - 1, Occasion: ring.Occasion(i / 2 % 2), Urgency: ring.Urgency(i / 4 % 2)}
	}

	return out
}

// TestPickWhileNodesChange runs picks against writers. What no writer touches holds throughout; and when
// they are done, the ring is as their last words say.
func TestPickWhileNodesChange(t *testing.T) {
	const nodes, changes = 100, 3000

	r := build(t, members(nodes), ring.Config{Bits: 12})
	r.SetState(0, ring.Ineligible) // and 1 stays open

	var writers, readers sync.WaitGroup

	done := make(chan struct{})

	for w := range 2 {
		writers.Go(func() {
			for n := range changes {
				x := xxh3.HashString(fmt.Sprint(w, n))
				stir(r, 2+2*int(x%((nodes-2)/2))+w, x) // each has its own nodes
			}
		})
	}

	for range 2 {
		readers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}

				choice := r.Choose(ring.Query{Hash: hashOf(n), Avoid: ring.NoNode, Occasion: ring.Occasion(n % 2), Urgency: ring.Urgency(n / 2 % 2)})
				if choice.Node < 1 || choice.Node >= nodes || choice.How > ring.Spill {
					t.Errorf("%+v, though node 1 is open and node 0 ineligible", choice)

					return
				}

				if e := r.Explain(ring.Query{Hash: hashOf(n), Avoid: ring.NoNode}); n%50 == 0 && retrace(e) != e.Choice {
					t.Errorf("explained in two ways: %+v", e)

					return
				}
			}
		})
	}

	writers.Wait()
	close(done)
	readers.Wait()

	compare := func() {
		t.Helper()

		s := known(r)
		for _, q := range queries(3000, nodes) {
			if got, want := r.Choose(q), naivePick(r, s, q); got != want {
				t.Fatalf("%+v: got %+v, want %+v", q, got, want)
			}
		}
	}

	compare()

	for i := range nodes {
		if r.State(i) == ring.Open {
			r.SetState(i, ring.AtLimit)
		}
	}

	compare()
}

// TestLoadsChangeWhileStatesDo has a node closed in one goroutine while another one tells of its load, without a lock as long as it is open. Whichever comes
// last, the last resort knows the load when both are done.
func TestLoadsChangeWhileStatesDo(t *testing.T) {
	const rounds = 5000

	r := build(t, members(2), ring.Config{Bits: 8})
	r.SetState(1, ring.AtLimit)
	r.SetLoad(1, 49, 100, 200)

	var (
		writer  sync.WaitGroup
		started atomic.Int64 // round
		done    atomic.Int64
	)

	load := func(round int64) (inFlight uint32, best int) {
		if round%2 == 0 {
			return 39, 0
		}

		return 59, 1
	}

	writer.Go(func() {
		for round := int64(1); round <= rounds; round++ {
			for started.Load() < round {
				runtime.Gosched()
			}

			inFlight, _ := load(round)
			r.SetLoad(0, inFlight, 100, 200)
			done.Store(round)
		}
	})

	wrong := 0

	for round := int64(1); round <= rounds; round++ {
		r.SetState(0, ring.Open)
		started.Store(round)

		for range round % 128 { // so that all orders are met
			started.Load()
		}

		r.SetState(0, ring.AtLimit)

		for done.Load() < round {
			runtime.Gosched()
		}

		if _, best := load(round); r.Pick(1, ring.NoNode).Node != best {
			wrong++
		}
	}

	writer.Wait()

	if wrong > 0 {
		t.Errorf("the last resort went by a load of before in %d rounds of %d", wrong, rounds)
	}
}

// TestSwapWhilePicksRun replaces the ring again and again, as its owner does when nodes come and go, while others pick by whichever is
// published and one sets what it knows of the nodes. Node "anchor" is always open and "outcast" never eligible, in each of
// the rings and in every moment in which one can be seen.
func TestSwapWhilePicksRun(t *testing.T) {
	const swaps, pickers = 150, 4

	var (
		current          atomic.Pointer[ring.Ring]
		writers, readers sync.WaitGroup
	)

	next := func(n int) *ring.Ring {
		r := build(t, append(members(10+n%23, 1, 2, 4), ring.Node{ID: "anchor", Capacity: 2}, ring.Node{ID: "outcast", Capacity: 9}), ring.Config{Bits: 10})
		out, _ := r.Index("outcast")
		r.SetState(out, ring.Ineligible)

		if old := current.Load(); old != nil {
			for i := range old.Len() {
				if j, stays := r.Index(old.Node(i).ID); stays {
					r.SetState(j, old.State(i))
					r.SetPressure(j, old.Pressure(i))
					r.SetFull(j, old.Occupancy(i))
				}
			}
		}

		return r
	}

	current.Store(next(0))

	done := make(chan struct{})

	for p := range pickers {
		readers.Go(func() {
			for n := p; ; n += pickers {
				select {
				case <-done:
					return
				default:
				}

				r := current.Load()
				choice := r.Choose(ring.Query{Hash: hashOf(n), Avoid: ring.NoNode, Occasion: ring.Occasion(n / 4 % 2), Urgency: ring.Urgency(n / 8 % 2)})

				if choice.Node < 0 || choice.Node >= r.Len() || choice.How > ring.Spill || r.Node(choice.Node).ID == "outcast" {
					t.Errorf("%+v of %d nodes, though anchor is open", choice, r.Len())

					return
				}
			}
		})
	}

	writers.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}

			r := current.Load()
			x := xxh3.HashString(fmt.Sprint("stir", n))

			if i := int(x % uint64(r.Len())); r.Node(i).ID != "anchor" && r.Node(i).ID != "outcast" {
				stir(r, i, x)
			}
		}
	})

	for n := range swaps {
		current.Store(next(n))
	}

	close(done)
	readers.Wait()
	writers.Wait()

	r := current.Load()
	s := known(r)

	for _, q := range queries(3000, r.Len()) {
		if got, want := r.Choose(q), naivePick(r, s, q); got != want {
			t.Fatalf("%+v: got %+v, want %+v", q, got, want)
		}
	}
}
