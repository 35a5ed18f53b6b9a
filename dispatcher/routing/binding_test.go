package routing_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
)

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// use has a station send a message that is answered at once, and returns the node that got it.
func (r *reporter) use(t fataler, station uint64) string {
	t.Helper()

	r.sent++

	k := binary.BigEndian.AppendUint64(nil, station)
	r.core.Submit(r.now, &routing.Message{Epoch: 1, Sequence: r.sent, Key: k, Hash: xxh3.Hash(k)})

	to := ""

	for _, e := range r.fill(t) {
		if e.sequence == r.sent {
			to = e.node
		}

		r.core.Heard(r.now, e.incarnation)
		r.core.Answer(r.now, e.incarnation, &e.Answer)
	}

	r.core.Done()

	return to
}

// open are the nodes that may be picked first.
func (r *reporter) open() []string {
	var ids []string

	for _, s := range r.core.Stats().Nodes {
		if s.Member && s.Status == routing.Open {
			ids = append(ids, s.ID)
		}
	}

	return ids
}

func (r *reporter) incarnation(id string) uint64 {
	for _, s := range r.core.Stats().Nodes {
		if s.ID == id {
			return s.Incarnation
		}
	}

	return 0
}

// stations are ids of one seed.
func stations(seed, n uint64) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = seed<<32 + uint64(i)*7919
	}

	return all
}

// most is the bound of section 5: max(ceil(mean), floor(1.25 mean)).
func most(keys, nodes int) int { return max((keys+nodes-1)/nodes, 5*keys/(4*nodes)) }

// held counts keys by node and checks the bound.
func (r *reporter) held(t *testing.T, nodes int) map[string]int {
	t.Helper()

	if err := r.core.CheckBindings(); err != nil {
		t.Fatal(err)
	}

	keys, total := map[string]int{}, 0
	for _, n := range r.core.Stats().Nodes {
		if n.Keys > 0 {
			keys[n.ID] = n.Keys
			total += n.Keys
		}
	}

	for id, n := range keys {
		if n > most(total, nodes) {
			t.Fatalf("%s has %d keys of %d on %d nodes, %d at most are right", id, n, total, nodes, most(total, nodes))
		}
	}

	return keys
}

// With 100 stations on 16 nodes none has more than 7, from the first station on, and each stays where it is. The ring alone
// does not do that.
func TestFewStationsAreSpread(t *testing.T) {
	alone := 0

	for seed := range uint64(40) {
		r := newReporter(t, testConfig(), 16)
		all := stations(seed, 100)
		first := map[uint64]string{}

		for _, s := range all {
			first[s] = r.use(t, s)
			r.held(t, 16)
		}

		for _, s := range all {
			if got := r.use(t, s); got != first[s] {
				t.Fatalf("station %d was at %s, and went to %s", s, first[s], got)
			}
		}

		alone += worstHome(t, all)
	}

	if alone/40 < 9 {
		t.Errorf("the fullest node has %d keys on average without the bound: this test shows nothing", alone/40)
	}
}

// worstHome is the number of stations of the node with most of them, without a bound.
func worstHome(t *testing.T, all []uint64) int {
	t.Helper()

	var nodes []ring.Node
	for i := range 16 {
		nodes = append(nodes, ring.Node{ID: fmt.Sprintf("n%02d", i), Capacity: 100})
	}

	r, err := ring.Build(nodes, ring.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}

	var keys [16]int

	worst := 0
	for _, s := range all {
		n := r.Home(xxh3.Hash(binary.BigEndian.AppendUint64(nil, s)))
		keys[n]++
		worst = max(worst, keys[n])
	}

	return worst
}

// A node that joins gets stations, none but for it or off a node that has too many move; of one that dies only its own move. The bound holds
// throughout.
func TestStationsMoveAsLittleAsTheyMust(t *testing.T) {
	var joined, left, gained int

	const seeds = 40

	cfg := testConfig()
	cfg.MaxNodes = 17

	for seed := range uint64(seeds) {
		r := newReporter(t, cfg, 16)
		all := stations(seed, 100)
		before := map[uint64]string{}

		for _, s := range all {
			before[s] = r.use(t, s)
		}

		r.beat(16, bus.Heartbeat{})
		r.place(t)

		keys := r.held(t, 17)
		gained += keys["n16"]

		for _, s := range all {
			now := r.use(t, s)
			if now == before[s] {
				continue
			}

			joined++

			if now != "n16" {
				t.Errorf("seed %d: a node joins, and station %d goes from %s to %s", seed, s, before[s], now)
			}

			before[s] = now
		}

		r.core.NoResponders(r.now, "n03")
		r.place(t)
		r.held(t, 16)

		for _, s := range all {
			now := r.use(t, s)
			if now != before[s] {
				left++
			}

			if (now != before[s]) != (before[s] == "n03") {
				t.Errorf("seed %d: n03 dies, and station %d goes from %s to %s", seed, s, before[s], now)
			}
		}
	}

	t.Logf("of 100 stations %.2f move when a seventeenth node joins (100/17 = 5.88), %.2f when one of 17 dies; the new node has %.2f",
		float64(joined)/seeds, float64(left)/seeds, float64(gained)/seeds)

	if gained < 4*seeds {
		t.Errorf("the new node has %.2f stations of 5.88", float64(gained)/seeds)
	}
}

// A node that is not open keeps its stations: they go elsewhere meanwhile.
func TestStationsComeBack(t *testing.T) {
	cfg := testConfig()
	cfg.Hysteresis = 0

	r := newReporter(t, cfg, 4)
	all := stations(1, 24)
	before := map[uint64]string{}

	for _, s := range all {
		before[s] = r.use(t, s)
	}

	r.beat(2, bus.Heartbeat{CPU: 1})

	for _, s := range all {
		if now := r.use(t, s); (now == before[s]) != (before[s] != "n02") {
			t.Errorf("n02 is at its limit, and station %d goes from %s to %s", s, before[s], now)
		}
	}

	r.beat(2, bus.Heartbeat{})

	for _, s := range all {
		if now := r.use(t, s); now != before[s] {
			t.Errorf("n02 is open again, and station %d goes to %s, not %s", s, now, before[s])
		}
	}
}

// Stations that are silent are forgotten, others are not.
func TestBindingsExpire(t *testing.T) {
	r := newReporter(t, testConfig(), 2)

	for _, s := range stations(1, 10) {
		r.use(t, s)
	}

	for range 600 {
		r.pass(time.Second)
		r.beat(0, bus.Heartbeat{})
		r.beat(1, bus.Heartbeat{})
		r.use(t, stations(1, 1)[0])
	}

	if keys := r.held(t, 2); keys["n00"]+keys["n01"] != 1 {
		t.Errorf("%v", keys)
	}
}

// The table is bounded: keys beyond go by the ring alone.
func TestBindingsAreBounded(t *testing.T) {
	r := newReporter(t, testConfig(), 3)

	for _, s := range stations(1, 3*512+500) {
		if r.use(t, s) == "" {
			t.Fatalf("station %d got no node", s)
		}
	}

	if n := len(r.core.Bindings()); n != 3*512 {
		t.Errorf("%d keys are bound", n)
	}
}

// Whatever befalls nodes, the counts stay right, and a message finds an open node while there is one.
func TestBindingsHoldWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := testConfig()
		cfg.Hysteresis = 0

		r := newReporter(t, cfg, rapid.IntRange(1, 6).Draw(rt, "nodes"))
		capacity := rapid.SampledFrom([]uint32{100, 200, 800})
		index := rapid.IntRange(0, 7)

		rt.Repeat(map[string]func(*rapid.T){
			"use": func(t *rapid.T) {
				keys := len(r.core.Bindings())

				for range 2 {
					open, idle := r.open(), r.core.Unanswered() == 0
					to := r.use(t, rapid.Uint64Range(0, 60).Draw(t, "station"))

					if idle && len(open) > 0 && !slices.Contains(open, to) {
						t.Fatalf("went to %q with %q open", to, open)
					}
				}

				if len(r.core.Bindings()) < keys {
					t.Fatal("using stations forgets them")
				}
			},
			"beat": func(t *rapid.T) {
				r.beat(index.Draw(t, "node"), bus.Heartbeat{Capacity: capacity.Draw(t, "capacity"), CPU: rapid.SampledFrom([]float64{0, 0, 1}).Draw(t, "cpu")})
			},
			"gone":  func(t *rapid.T) { r.core.NoResponders(r.now, fmt.Sprintf("n%02d", index.Draw(t, "node"))) },
			"place": func(*rapid.T) { r.place(t) },
			"time": func(t *rapid.T) {
				r.pass(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, 2 * time.Second}).Draw(t, "time"))
			},
			"": func(t *rapid.T) {
				if err := r.core.CheckBindings(); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// A node whose capacity shrinks gives up the keys that are over its bound then, and no others move.
func TestStationsLeaveANodeThatShrinks(t *testing.T) {
	r := newReporter(t, testConfig(), 4)
	all := stations(1, 40)
	before := map[uint64]string{}

	for _, s := range all {
		before[s] = r.use(t, s)
	}

	was := r.held(t, 4)["n00"]

	r.beats++
	r.core.Heartbeat(r.now, bus.Heartbeat{ID: "n00", Incarnation: 1, Sequence: r.beats, State: bus.Ready, Capacity: 10})
	r.place(t)

	if now := r.held(t, 3)["n00"]; was < 8 || now != 2 { // ceil(40 * 10/310)
		t.Errorf("n00 had %d stations, and has %d with a thirtieth of the capacity", was, now)
	}

	for _, s := range all {
		if now := r.use(t, s); now != before[s] && before[s] != "n00" {
			t.Errorf("station %d goes from %s to %s", s, before[s], now)
		}
	}
}
