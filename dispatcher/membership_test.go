package dispatcher_test

import (
	"fmt"
	"testing"
	"time"
)

// Processors get a new id with each start, far more often than maxNodes.
func TestRestartsUnderNewIDsAreForgotten(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	cfg := testConfig("d1")
	cfg.MaxNodes, cfg.NodeMemory = 2, time.Hour
	f := startDispatcher(t, url, cfg)
	s := newStore()

	for i := range 6 {
		id := fmt.Sprintf("n%d", i)
		n := startNode(t, url, id, s)

		eventually(t, "the node is in the ring", func() bool {
			for _, n := range f.Stats().Nodes {
				if n.ID == id && n.Share == 1 {
					return true
				}
			}

			return false
		})

		n.kill()
	}

	if n := len(f.Stats().Nodes); n > cfg.MaxNodes {
		t.Errorf("%d nodes", n)
	}
}
