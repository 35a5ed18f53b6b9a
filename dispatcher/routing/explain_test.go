package routing_test

import (
	"fmt"
	"testing"

	"github.com/zeebo/xxh3"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

// An explanation takes no turn and draws no lot: the message goes where it said, however often it was asked.
func TestExplainingTakesNoTurn(t *testing.T) {
	for _, name := range []string{policy.Default, "round-robin", "weighted-round-robin", "smooth-weighted-round-robin", "power-of-two", "random-placement", "availability"} {
		t.Run(name, func(t *testing.T) {
			core := routing.New(testConfig(), 1)
			for i := range 4 {
				core.Heartbeat(0, bus.Heartbeat{ID: fmt.Sprintf("n%d", i), Incarnation: uint64(i + 1), Sequence: 1, State: bus.Ready, Capacity: uint32(100 + i)})
			}

			members, _ := core.PolicyWanted()

			p, err := policy.New(name, members, policy.Options{Ring: ring.Config{Bits: 8}, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}

			core.SetPolicy(0, p)

			nodes := map[string]bool{}

			for i := range uint64(12) {
				k := fmt.Appendf(nil, "key %d", i)
				m := routing.Message{Epoch: 1, Sequence: i + 1, Key: k, Hash: xxh3.Hash(k), Number: i}

				said := core.Explain(&m).Taken
				if again := core.Explain(&m).Taken; again != said {
					t.Fatalf("message %d goes to %s, and asked again to %s", i, said, again)
				}

				core.Submit(0, &m)

				if went := core.Explain(&m).Node; went != said {
					t.Fatalf("message %d went to %s, not to %s", i, went, said)
				}

				nodes[said] = true
			}

			if len(nodes) < 3 {
				t.Errorf("all go to %v: there is nothing to tell", nodes)
			}
		})
	}
}
