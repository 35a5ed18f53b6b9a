package policy

import "skyring/ring"

// Bits of the table: the kernel's default, and the most it can be built with.
const (
	addressHashBits    = 8
	addressHashBitsMax = 20
)

// addressHash is the source and the destination hash of IP Virtual Server: a table of buckets, filled with the nodes in turn, and
// the bucket of an address by multiplicative hashing.
//
// Source: Linux, net/netfilter/ipvs/ip_vs_sh.c and ip_vs_dh.c (W. Zhang). In place of IP addresses stand numbers folded to 32 bits, as the kernel
// folds IPv6 addresses:
//
//	source-hash        Query.Source: who sent the message. All stations behind one association go to one node.
//	destination-hash   Query.Number: the session that it is for. All messages of one station go to one node.
//
// As in the kernel, a node fills as many buckets of the source hash in a row as its weight says, and one of the destination hash. Weights are
// the capacities divided by their greatest common divisor, or in proportion where they would be more than the buckets. The
// table is larger than the kernel's 256 buckets only where nodes would find none. A node that is not usable leaves the
// message to the buckets that the kernel's flag sh-fallback looks at; without that flag, and with dh at all, the kernel drops it.
type addressHash struct {
	members

	address func(Query) uint64
	buckets []uint16 // empty without nodes
	bits    uint
}

func sourceHashEntry() entry {
	return entry{
		Description: Description{
			Name:    "source-hash",
			Summary: "table of buckets by the association that sends",
			Source:  "Linux IP Virtual Server, ip_vs_sh.c",
		},
		build: certain(newSourceHash),
	}
}

func destinationHashEntry() entry {
	return entry{
		Description: Description{
			Name:    "destination-hash",
			Summary: "table of buckets by the session's number",
			Source:  "Linux IP Virtual Server, ip_vs_dh.c",
		},
		build: certain(newDestinationHash),
	}
}

func newSourceHash(nodes []ring.Node, o Options) *addressHash {
	p := &addressHash{members: newMembers(nodes, o), address: func(q Query) uint64 { return q.Source }}
	p.fill(sourceWeights(nodes))

	return p
}

func newDestinationHash(nodes []ring.Node, o Options) *addressHash {
	weights := make([]uint64, len(nodes))
	for i := range weights {
		weights[i] = 1
	}

	p := &addressHash{members: newMembers(nodes, o), address: func(q Query) uint64 { return q.Number }}
	p.fill(weights)

	return p
}

// sourceWeights are the capacities in lowest terms, scaled down where the largest table could not hold them.
func sourceWeights(nodes []ring.Node) []uint64 {
	var divisor, sum uint64

	for _, n := range nodes {
		sum += uint64(n.Capacity)
		divisor = greatestCommonDivisor(divisor, uint64(n.Capacity))
	}

	weights := make([]uint64, len(nodes))

	for i, n := range nodes {
		if weights[i] = uint64(n.Capacity) / divisor; sum/divisor > 1<<addressHashBitsMax {
			weights[i] = max(1, uint64(n.Capacity)<<(addressHashBitsMax-1)/sum)
		}
	}

	return weights
}

// greatestCommonDivisor is that of a and b, by Euclid; b where a is 0.
func greatestCommonDivisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}

	return a
}

// fill gives the buckets to the nodes in turn, to each as many in a row as its weight.
func (p *addressHash) fill(weights []uint64) {
	if len(weights) == 0 {
		return
	}

	var sum uint64
	for _, w := range weights {
		sum += w
	}

	for p.bits = addressHashBits; uint64(1)<<p.bits < sum; {
		p.bits++
	}

	p.buckets = make([]uint16, 1<<p.bits)
	node, given := 0, uint64(0)

	for b := range p.buckets {
		if given == weights[node] {
			node, given = (node+1)%len(weights), 0
		}

		p.buckets[b] = uint16(node)
		given++
	}
}

// Pick implements Policy.
func (p *addressHash) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	address := p.address(q)
	home := (uint32(address>>32) ^ uint32(address)) * 0x61C88647 >> (32 - p.bits) // the kernel's hash_32

	if n := int(p.buckets[home]); p.usable(n, q.Avoid) {
		return ring.Choice{Node: n, How: ring.Home}
	}

	mask := uint32(len(p.buckets) - 1)

	for offset := range uint32(len(p.buckets)) {
		if n := int(p.buckets[(home+home+offset)&mask]); p.usable(n, q.Avoid) {
			return later(n, int(offset)+1)
		}
	}

	return p.resort(q.Avoid)
}
