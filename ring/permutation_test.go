package ring_test

import (
	"fmt"
	"testing"

	"skyring/ring"
)

// TestPermutationIsBijective: every node proposes to every slot once.
func TestPermutationIsBijective(t *testing.T) {
	for bits := uint8(ring.MinBits); bits <= 16; bits++ {
		for _, id := range []string{"a", "b", "processor-1", ""} {
			seen := make([]bool, 1<<bits)

			for i := range uint32(1 << bits) {
				slot := ring.Permute(id, bits, i)
				if int(slot) >= len(seen) || seen[slot] {
					t.Fatalf("%d bits, id %q: slot %d for virtual node %d is out of range or taken", bits, id, slot, i)
				}

				seen[slot] = true
			}
		}
	}
}

// TestPermutationsDiffer: two nodes seldom propose to the same slot at the same time.
func TestPermutationsDiffer(t *testing.T) {
	const bits, nodes = 16, 64

	same := 0

	ids := make([]string, nodes)
	for i := range ids {
		ids[i] = fmt.Sprint("processor-", i)
	}

	for a := range nodes {
		for b := range a {
			for i := range uint32(256) {
				if ring.Permute(ids[a], bits, i) == ring.Permute(ids[b], bits, i) {
					same++
				}
			}
		}
	}

	// 2,016 pairs, 256 virtual nodes each, one in 65,536: 7.9 expected, standard deviation 2.8.
	if same > 22 {
		t.Errorf("%d same proposals, want about 8", same)
	}
}
