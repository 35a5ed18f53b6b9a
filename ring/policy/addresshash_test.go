package policy_test

import (
	"math"
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

// TestAddressHashBucketsAreTheKernels: sh fills as many in a row as the weight says, dh one.
func TestAddressHashBucketsAreTheKernels(t *testing.T) {
	nodes := processors(3, 300, 100, 200)

	for name, turn := range map[string][]uint16{"source-hash": {0, 0, 0, 1, 2, 2}, "destination-hash": {0, 1, 2}} {
		buckets := policy.Buckets(mustNew(t, name, nodes, standard()))
		if len(buckets) != 256 {
			t.Errorf("%s: %d buckets", name, len(buckets))
		}

		for b, got := range buckets {
			if want := turn[b%len(turn)]; got != want {
				t.Fatalf("%s: bucket %d is of %d, want %d", name, b, got, want)
			}
		}
	}
}

// TestAddressHashTableHoldsAllNodes whatever their number and weights.
func TestAddressHashTableHoldsAllNodes(t *testing.T) {
	for _, c := range []struct {
		nodes []ring.Node
		want  int
	}{
		{processors(256), 256},
		{processors(257), 512},
		{processors(1000, 997, 991), 1 << 20},
		{processors(3, math.MaxUint32, 1, 7), 1 << 20},
	} {
		buckets := policy.Buckets(mustNew(t, "source-hash", c.nodes, standard()))
		seen := map[uint16]bool{}

		for _, n := range buckets {
			seen[n] = true
		}

		if len(buckets) != c.want || len(seen) != len(c.nodes) {
			t.Errorf("%d nodes: %d of them in %d buckets, want %d", len(c.nodes), len(seen), len(buckets), c.want)
		}
	}
}

// TestAddressHashesHashTheirAddress: one does not care for what the other hashes, and the multiplication is the kernel's.
func TestAddressHashesHashTheirAddress(t *testing.T) {
	source, destination := mustNew(t, "source-hash", processors(16), standard()), mustNew(t, "destination-hash", processors(16), standard())

	for k := range uint64(500) {
		q := policy.Query{Source: k, Number: k * k, Hash: k, Avoid: ring.NoNode}

		want := int(uint32(k) * 0x61C88647 >> 24 % 16)
		if got := source.Pick(q); got.Node != want || got.How != ring.Home {
			t.Fatalf("source %d: %+v, want %d", k, got, want)
		}

		if got := destination.Pick(q); got.Node != int(uint32(k*k)*0x61C88647>>24%16) {
			t.Fatalf("number %d: %+v", k*k, got)
		}
	}

	folded := policy.Query{Source: 5<<32 | 6, Avoid: ring.NoNode}
	if got, want := source.Pick(folded), source.Pick(policy.Query{Source: 5 ^ 6, Avoid: ring.NoNode}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAddressHashFallsBackAsTheKernel: around the table from twice the bucket's number.
func TestAddressHashFallsBackAsTheKernel(t *testing.T) {
	p := mustNew(t, "source-hash", processors(16), standard())
	q := policy.Query{Source: 77, Avoid: ring.NoNode}
	home := p.Pick(q).Node
	saturate(p, home, ring.AtLimit)

	bucket := uint32(q.Source) * 0x61C88647 >> 24
	second := int(2*bucket) % 16

	if second == home {
		second = (second + 1) % 16
	}

	if got := p.Pick(q); got.Node != second || got.How != ring.Chain {
		t.Errorf("%+v, want %d", got, second)
	}
}
