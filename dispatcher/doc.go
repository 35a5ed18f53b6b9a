// Package dispatcher takes signalling messages from SCTP associations, has
// processors apply them, and tells the stations what became of them.
//
//	endpoint --Accept--> serve: a goroutine for each association
//	                       |  epoch: asked of a live processor before anything is read;
//	                       |  it names the association for ever
//	                       v
//	   Receive --> deliver: key, sequence, ordinal ----+   blocks while too much of the
//	                                                   |   association is unanswered
//	                              +--------------------v------------------+
//	   keepMembers: timers,       |  routing.Core under one mutex         |
//	   rings, hellos, the log --> |  sessions, nodes, deadlines, retries  |
//	                              +---+--------------------------------^--+
//	            writeOutbox: a        |  Fill                          |  Answer, Heartbeat,
//	            goroutine a node      v                                |  NoResponders
//	                              NATS node.<id>              NATS disp.<id>, hb --> deliver
//	                                                                   |                |
//	   Send <-- send: a goroutine for each association <-- finished: reply or receipt   |
//	             |      <------------------------------- message for the station -------+
//	             +--> carryOutcomes --> NATS dlv.<id>: SCTP has it, or no association
//
// Associations are kept from each other: each has credit for messages that are not
// answered or whose answers it does not take, and they take turns where messages wait for
// a node (package routing).
//
// A message is acknowledged by a reply or receipt, which go out after its commit, and
// by nothing else: SCTP's SACK says only that it arrived. Nothing that was read is
// dropped; what cannot be held is not read, so that SCTP's window closes. What an
// association leaves unanswered when it ends is still brought to its commit.
//
// ESSP differs in this: stations send what is not answered again, so a message that is
// not committed within Expiry is given up; it is answered by its own replies and never
// by receipts; and processors send stations messages that no message of theirs asked
// for (deliveries), through the same queue, so that they keep their order.
//
// The endpoint and the NATS connection are the caller's and must outlive Run, which
// needs them to drain:
//
//	d, err := dispatcher.New(cfg, endpoint, conn, log)
//	err = d.Run(ctx)   // ends after ctx, once drained (drain.go); an error when messages are left
//	// only now: end the endpoint's Run, drain and close the connection
package dispatcher
