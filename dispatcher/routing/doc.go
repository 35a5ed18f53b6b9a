// Package routing is the pure core of the dispatcher: which node gets a message,
// and what becomes of it until it is answered. It has no socket, clock or logger;
// the dispatcher brings events and carries frames, so that every decision can be
// replayed from a script (testdata) and checked against a model.
//
//	Submit --> session (one key's unanswered messages)
//	              |  strand: those of one association, in order of arrival
//	              |  pick: policy, own in-flight counts          no room: parked,
//	              v                                              associations take turns
//	           node (one for all of the key that is in flight)
//	              |  outbox: up to Window messages, strand by strand in turns, and of a strand
//	              |  within Window of its oldest unanswered; what may be given up goes alone
//	              v
//	            Fill --> frame: attempt, predecessor, expiry and deadline are set here
//	              .
//	            Answer   Committed, Replayed, Stale, Quarantined, Refused: done, and told (Done)
//	                     once all earlier messages of the key and association are
//	                     Gap, Expired:   the key's unanswered again, at once, then with growing waits;
//	                                     but one that expired about when it is given up is done
//	                     Unavailable:    again after a wait that grows up to Deadline
//	                     an older attempt: only "the effect is in" counts; the rest is dropped
//	            none     Probe:          one message of the node again, the same attempt
//	                     Deadline:       the node answered nothing since: it is stalled, all of it moves;
//	                                     else the key moves, within the retry budget, and deadlines double
//	            GiveUp   the message has a time and it is over: done without an answer
//	            NATS     503, four missed heartbeats, a new incarnation: dead, all of it moves, free
//	                     back again after it was away: all in flight goes again
//
// A node that answers late has a queue. The deadline follows its response, and the limit
// of messages in flight its response and throughput (response.go).
//
// # Picks
//
// Which node a key gets a policy decides, by default the slot ring (skyring/ring/policy). It is made for a set of
// nodes (PolicyWanted, SetPolicy) and told at once what the core counts, and at heartbeats what nodes report:
//
//	open        takes messages
//	at-limit    as many messages or bytes in flight as its limit (at once), or at its CPU or memory threshold (from a
//	            heartbeat on, and for the hysteresis at least): takes none while another is open
//	ineligible  starting, draining, suspect, stalled or dead: takes none
//
// A node's weight is 1 minus the most used part of what it may use: CPU, memory, rate, response, messages in flight
// (strain.go). It decides where no node is open.
//
// A few stations make any hash uneven. So keys are bound to nodes, within a bound on keys for each node, where the policy can do
// that (binding.go). Above 512 keys a node chance evens them out, and the ring alone decides. Explain tells of any key where it goes, and why.
//
// Nobody mutes a station by sending under its key: the strands of a key take turns, and a
// message that is refused leaves no gap.
//
// A move takes all of a key's unanswered messages together, in order, to one node.
// That order is kept for good is the processors' work (marks and predecessors); the
// core's is never to send a message before its predecessors, nor to forget one.
//
// Time that the process did not run, or NATS was away, does not count for deadlines
// and heartbeats (Core.at): a dispatcher that wakes up blames nobody.
//
// One caller at a time: the dispatcher holds one lock around every call. No call
// allocates in proportion to messages in flight; entries and sessions are pooled, and
// deadlines are on one timer wheel.
package routing
