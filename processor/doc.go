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
package processor
