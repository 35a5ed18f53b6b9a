package policy

import "skyring/ring"

// hashPolicies are those that choose by the session, and step aside where a node is full.
func hashPolicies() []entry {
	return []entry{
		{
			Description{"paper", "Fibonacci hash to 1,000 positions, clockwise walk past nodes at their limit, best weight", "Fibonacci-hash ring dispatch (seed 004)"},
			func(n []ring.Node, o Options) (Policy, error) {
				return newPaperRing(n, o, paperPositions, paperVirtualNodes)
			},
		},
		{
			Description{"paper-32bit", "the same on 2^32 positions", "Fibonacci-hash ring dispatch (seed 004)"},
			func(n []ring.Node, o Options) (Policy, error) {
				return newPaperRing(n, o, paper32BitPositions, paper32BitVirtualNodes)
			},
		},
		{
			Description{"modulo", "hash table: node hash mod N, the next where it is full", "baseline of seed 004; Knuth, The Art of Computer Programming 3, 6.4"},
			func(n []ring.Node, o Options) (Policy, error) { return &modulo{newMembers(n, o)}, nil },
		},
		{
			Description{"source-hash", "table of buckets by the association that sends", "Linux IP Virtual Server, ip_vs_sh.c"},
			newSourceHash,
		},
		{
			Description{"destination-hash", "table of buckets by the session's number", "Linux IP Virtual Server, ip_vs_dh.c"},
			newDestinationHash,
		},
		{
			Description{"even-ring", "evenly spaced virtual nodes, BKDR hash, boundaries that move with the load, as meant", "even virtual nodes and BKDR hash (seed 003)"},
			func(n []ring.Node, o Options) (Policy, error) { return newEvenRing(n, o, asMeant) },
		},
		{
			Description{"even-ring-printed", "the same with its weights as printed", "even virtual nodes and BKDR hash (seed 003)"},
			func(n []ring.Node, o Options) (Policy, error) { return newEvenRing(n, o, asPrinted) },
		},
		{
			Description{"plain-ring", "consistent hashing with virtual nodes", "Karger and others, STOC 1997"},
			newPlainRing,
		},
		{
			Description{"random-placement", "a random node for each message, by capacity", "baseline of seed 003"},
			newRandomPlacement,
		},
		{
			Description{"bounded-ring", "consistent hashing with bounded loads, c = 1.25 over the messages in flight", "Mirrokni, Thorup, Zadimoghaddam, SODA 2018"},
			newBoundedRing,
		},
		{
			Description{"maglev", "lookup table of 65,537 entries filled in turns, weights as in Envoy", "Eisenbud and others, NSDI 2016"},
			newMaglev,
		},
		{
			Description{"jump", "jump consistent hash, without capacities", "Lamping, Veach, arXiv:1406.2294, 2014"},
			func(n []ring.Node, o Options) (Policy, error) { return &jump{newMembers(n, o)}, nil },
		},
		{
			Description{"weighted-rendezvous", "highest random weight, logarithm method", "Thaler, Ravishankar 1998; Schindelhauer, Schomaker, SPAA 2005"},
			newWeightedRendezvous,
		},
		{
			Description{"multi-probe", "one place a node, 21 probes a key, without capacities", "Appleton, O'Reilly, arXiv:1505.00062, 2015"},
			newMultiProbe,
		},
	}
}
