package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

// TestJumpHashAsPublished: values that other implementations of the paper's function give.
func TestJumpHashAsPublished(t *testing.T) {
	for _, c := range []struct {
		key  uint64
		n    int
		want int
	}{{1, 1, 0}, {42, 57, 43}, {0xDEAD10CC, 1, 0}, {0xDEAD10CC, 666, 361}, {256, 1024, 520}} {
		if got := policy.JumpHash(c.key, c.n); got != c.want {
			t.Errorf("key %d of %d: %d, want %d", c.key, c.n, got, c.want)
		}
	}
}

// TestJumpMovesKeysToTheNewNodeAlone: with one node more a key stays or goes to it.
func TestJumpMovesKeysToTheNewNodeAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, n := rapid.Uint64().Draw(t, "key"), rapid.IntRange(1, 2000).Draw(t, "n")

		before, after := policy.JumpHash(key, n), policy.JumpHash(key, n+1)
		if before < 0 || before >= n || after != before && after != n {
			t.Fatalf("%d of %d, %d of %d", before, n, after, n+1)
		}
	})
}

// TestJumpSpreadsAFullNode: the keys of a node at its limit go to all others alike.
func TestJumpSpreadsAFullNode(t *testing.T) {
	p := mustNew(t, "jump", processors(10), standard())
	saturate(p, 3, ring.AtLimit)

	if got := policy.SharesOf(p, 100_000); got[3] != 0 {
		t.Errorf("the full node has %v", got[3])
	} else if worst := tilt(p, got); worst > 1.15 {
		t.Errorf("%v: the fullest has %v of the mean, 1.11 is fair", got, worst)
	}
}
