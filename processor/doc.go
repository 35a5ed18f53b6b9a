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
// # After a crash
//
// Whatever a processor was about to do when it died is in the records that it had committed; what it had not committed did not happen. A chain of
// sessions, as those of a call, so stops between two commits and goes on from there:
//
//   - its leases end after two thirds of LeaseTTL, and the others, which hear it no more, take its partitions with the next look, all within LeaseTTL;
//   - timers that are due fire with the next TimerTick, those that it had fired and not committed too;
//   - outboxes that are not empty are swept SweepAge after their last commit. What was offered before is offered again, from the oldest: a destination
//     that has it already only acknowledges;
//   - what a session waits for on the leg goes again, in order; a station knows repetitions by their sequence;
//   - what another processor has changed meanwhile is a conflict, and is judged anew on what is there.
//
// An outbox that has waited for a minute is looked after every tenth SweepAge only: what it waits for is a dispatcher that sleeps, or a handler that
// only another version of the program has. A partition whose owner is there and does not take it is adopted after two LeaseTTL. That a chain ends
// even if a station or its dispatcher never comes back is for the timers of its handlers.
//
// A partition belongs to the live processor with the highest hash of its id and the partition's number, by a lease in the store. Leases save work;
// when two processors believe to have one, all is done twice and takes effect once.
//
// # When the store lost writes
//
// A failover to a replica that was behind, or a restart without a log, brings records back as they were. Each processor asks for an epoch whenever it
// renews its leases: a last one that is lower than one seen shows the loss (R8). Then it reads all records of which it has hints, a batch at a time:
// what was lost was written just before, and whoever wrote it has a hint of it. The same is done when the store was away. A record that is older than
// its hint is alarmed, and its handler gets [Resynced] before anything else, with the body that was lost. What it sends to other sessions is numbered
// on from what was sent before the loss. A record that is gone altogether is told to nobody.
//
// Not found is what no living processor has a hint of; and what was lost after the last epoch only when something comes for it.
package processor
