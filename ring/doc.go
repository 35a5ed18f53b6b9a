// Package ring decides which node serves a session key: a ring of 2^Bits slots, each
// owned by one node, and keys placed on it by Fibonacci hashing.
//
//	          x = hash * G mod 2^64,  G = 2^64 / golden ratio
//	          |
//	          v top bits of x
//	+---+---+---+---+---+---+---+---+-- - - --+---+
//	| B | A | C | B | A | A | C | B |         | C |   slots, each with its owner
//	+---+---+---+---+---+---+---+---+-- - - --+---+
//	          |
//	          +- owner open? ------------> Home
//	          |  8 times: x = x*G; owner of x's slot open? of the first two such owners the one of
//	          |  the larger weight, 1 - max(pressure, (in flight + 1)/limit); the first if equal
//	          +--------------------------> Chain
//	          |  any node open? the one of rank x among them, weighted by slots
//	          +--------------------------> Spill
//	          |  none: largest weight below the hard cap
//	          +--------------------------> BestWeight
//	          +- nobody -----------------> None
//
// # The table
//
// Node n emits virtual nodes i = 0, 1, 2, ... at times -ln(1-(i+1/2)/m)/capacity to
// the slots of a permutation of its own, keyed by its id. A slot goes to its earliest
// claim, and a node stops at its quota; a node that loses a slot goes on with its
// next virtual node. This is deferred acceptance, whose result is unique: the table is
// a function of the set of ids and capacities and has neither order nor history. All
// of it is integer arithmetic, the logarithm too, so every machine builds the same
// table; Checksum tells whether two did.
//
// With quotas off (Epsilon < 0) the table is weighted rendezvous hashing per slot: a
// node that comes or goes moves only the slots it gains or loses. Exact quotas
// (Epsilon = 0) trade a little of that for shares that are as even as whole slots
// allow; Epsilon > 0 lies between.
//
// It is made window by window of time: at the end of a window all slots that have an owner have it
// for good, so that most of the claims to come are turned away by one bit.
//
// # Emergencies and first picks
//
// What is open depends on who asks (Query). To an Emergency a node at its limit is open too. To a
// key's First pick a node that is Full of keys is not, while another is open: a few stations make
// any hash uneven, and Bound says how many keys a node may have.
//
// Explain tells of each step of a pick, and Preview what a change of nodes would move.
//
// # Keys of a node that is not open
//
// The chain x, x*G, x*G*G, ... is a bijection at each step, so two keys never merge on
// one chain and the keys of a saturated node spread over all the others in proportion
// to their slots, instead of falling on one neighbour. Two candidates instead of one let the fuller of them
// be passed over, which keeps it from its own limit and so other keys at home; a key has no more than two nodes besides its
// home as long as these are open.
//
// # Use
//
// A Ring's table never changes; a change of nodes builds a new Ring, which the owner
// publishes through an atomic pointer. State, load, pressure and full mark of its nodes are atomics:
// picks may run in any number of goroutines while they change. A new Ring knows nothing of the
// one before: all its nodes are open and idle and have room, and may have other indexes. Its owner sets
// what it knows of each node, by id, before it publishes it (see the example).
//
// # Sources
//
//   - D. E. Knuth, The Art of Computer Programming 3, section 6.4: multiplicative
//     (Fibonacci) hashing.
//   - D. Gale, L. S. Shapley, "College Admissions and the Stability of Marriage",
//     American Mathematical Monthly 69, 1962: deferred acceptance; L. E. Dubins,
//     D. A. Freedman, "Machiavelli and the Gale-Shapley Algorithm", AMM 88, 1981: its
//     result does not depend on the order of proposals.
//   - D. G. Thaler, C. V. Ravishankar, "Using Name-Based Mappings to Increase Hit
//     Rates", IEEE/ACM Transactions on Networking 6, 1998: rendezvous hashing.
//   - M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", IEEE
//     Transactions on Parallel and Distributed Systems 12, 2001: best of two.
//   - V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded
//     Loads", SODA 2018: quotas of (1+epsilon) times the fair share.
//   - Largest remainder: A. Hamilton's method of apportionment, 1792.
package ring
