package routing_test

import (
	"testing"
	"time"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

// A ring takes a while to build. A member that is forgotten meanwhile is not picked, and
// the next ring is without it.
func TestRingOfAForgottenNode(t *testing.T) {
	cfg := testConfig()
	core, build := forgetful(t, cfg)

	for hash := range uint64(100) {
		core.Submit(100*time.Millisecond, &routing.Message{
			Epoch: 1, Sequence: hash + 1, Key: []byte{byte(hash)}, Hash: hash << 56,
		})
	}

	if s := core.Stats(); len(s.Nodes) != 1 || s.Nodes[0].InFlight != cfg.HardCap {
		t.Errorf("%+v", s.Nodes)
	}

	if r := build(); r.Len() != 1 {
		t.Errorf("%d members", r.Len())
	}
}

// Picks by such a ring can be explained, those of keys whose home was forgotten too.
func TestExplanationByARingOfAForgottenNode(t *testing.T) {
	cfg := testConfig()
	cfg.InFlightLimit, cfg.HardCap = 1000, 1000
	core, _ := forgetful(t, cfg)
	homeless := 0

	for hash := range uint64(100) {
		m := routing.Message{Epoch: 1, Sequence: hash + 1, Key: []byte{byte(hash)}, Hash: hash << 56}
		before := core.Explain(&m)
		core.Submit(100*time.Millisecond, &m)

		after := core.Explain(&m)
		if before.Taken != "a" || after.Taken != "a" || after.Binding != "a" {
			t.Fatalf("%+v, and bound %+v", before, after)
		}

		if after.Home == "" {
			homeless++
		}
	}

	if homeless < 20 {
		t.Errorf("%d of 100 keys have their home at the node that was forgotten, about half would be right", homeless)
	}
}

// forgetful makes a core that knows node a and picks by a ring of a and b; b was forgotten while the ring was made. build makes the ring that is wanted next.
func forgetful(t *testing.T, cfg routing.Config) (core *routing.Core, build func() policy.Policy) {
	t.Helper()

	cfg.NodeMemory = 10 * time.Millisecond
	core = routing.New(cfg, 1)

	for i, id := range []string{"a", "b"} {
		core.Heartbeat(0, bus.Heartbeat{ID: id, Incarnation: uint64(i + 1), Sequence: 1, State: bus.Ready, Capacity: 100})
	}

	build = func() policy.Policy {
		members, wanted := core.PolicyWanted()
		if !wanted {
			t.Fatal("no ring is wanted")
		}

		r, err := policy.New(policy.Default, members, policy.Options{Ring: ring.Config{Bits: 8}})
		if err != nil {
			t.Fatal(err)
		}

		return r
	}

	r := build()

	core.NoResponders(time.Millisecond, "b")
	core.Tick(100 * time.Millisecond)

	if f := core.Forgotten(); len(f) != 1 || f[0].ID() != "b" {
		t.Fatalf("%v", f)
	}

	core.SetPolicy(100*time.Millisecond, r)

	return core, build
}
