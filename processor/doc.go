// Package processor gives messages their effect on sessions. It keeps no state of its own: every session lives in the state store, so any processor
// can take over from any other one at any message.
//
//	 frames of envelopes (NATS)                 answers, per dispatcher
//	          |                                          ^
//	    subscription --- one goroutine, keeps order      |
//	     /    |    \     by hash of the session key      |
//	worker  worker  worker  (bounded queues; full: the subscription waits)
//	   |
//	   |  gather what is queued, group it by key
//	   |  record: hint of the last commit, else Load
//	   |  engine: record + envelopes -> record' + answers     pure; calls the Handler
//	   |  Commit all record' in one pipeline
//	   |     Written  -> answers go out
//	   |     Conflict -> engine again on what is there
//	   |     Unknown  -> Unavailable; the dispatcher sends again
//
// No answer that says "done" leaves before its commit was acknowledged.
//
// The engine never applies a message twice. Each record has, for every association that ever sent it something, a mark: the highest sequence
// that took effect. What is at or under it is answered from the ring of the last transactions, or as stale. What names a predecessor over the
// mark is a gap. What is past its expiry is refused, by the clock of the store and inside the commit; so nobody who slept long wakes up to a record
// that has forgotten the mark. See [Handler] for how a message gets its effect.
//
// # What sessions do on their own
//
// A result may also notify other sessions, send messages to the session's station (its leg), and arm timers. All of it is part of the record, as
// entries of its outbox and armed timers, and is committed with it, with what lists the session in the indexes of its partition:
//
//	commit of a ---> outbox of a: {b, 1} {b, 2} {leg, 1}
//	   |                 notify b 1, 2 (worker of b, here) ---> commit of b, its peer a at mark 2 ---> acknowledge a (worker of a) ---> commit: entries gone
//	   |                 deliver frame (dispatcher of the leg) --- taken ---------------------------> (worker of a) ----------------> commit: entry gone
//	   |                                                       --- no association --> the leg is gone; entries wait for the next one
//	   '-- whoever leases the partition: sweeps outboxes that wait for a second, fires timers that are due
//
// Workers tell each other by events, in bounded queues in which nobody waits: an event that finds no room, or dies with its process, is found again
// in the store. So the only thing that events need to be is harmless when they come late, twice, or from the past:
//
//   - a notification takes effect only as the next one of its source's line of numbers (a peer's mark, kept as long as the peer's record is there); at
//     or under the mark it is acknowledged again;
//   - an acknowledgement removes what it names, and a leg's only as long as that association is the leg;
//   - a timer fires only in the generation in which it is armed;
//   - each carries an expiry by the store's clock, inside the commit; tombstones outlive it.
//
// A partition belongs to the live processor with the highest hash of its id and the partition's number, by a lease in the store. Leases save work;
// when two processors believe to have one, all is done twice and takes effect once.
package processor
