// Package ringbench measures how algorithms place keys on nodes: our ring here, and any other through a
// Candidate (testbed/peers has those of eight public modules, in one process with ours).
//
//	[]Candidate --New(nodes)--> Table --Loop(keys)---> ns and allocations of a look-up
//	                                  --Slots/Owner--> evenness, weights, movement
//	                        time of New -------------> build
//
// Figures of one machine and one run: read the ratios. All candidates look the same keys up, in
// rounds that take turns, so that what disturbs the machine disturbs all alike; a figure is the median of its
// rounds. A look-up begins with the key's bytes, and so includes its hash.
//
// Evenness and movement are exact where the algorithm divides the space of hashes into equal slots, as
// ours does, and otherwise counted over many keys, which adds the noise of a random draw: at a mean of k keys the
// fullest of n nodes has some 1+sqrt(2 ln(n)/k) of it by chance alone.
package ringbench
