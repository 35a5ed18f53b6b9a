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
//	                              NATS node.<id>              NATS disp.<id>, hb
//	                                                                   |
//	   Send <-- sendReplies: a goroutine for each association <-- finished: reply or receipt
//
// A message is acknowledged by a reply or receipt, which go out after its commit, and
// by nothing else: SCTP's SACK says only that it arrived. Nothing that was read is
// dropped; what cannot be held is not read, so that SCTP's window closes. What an
// association leaves unanswered when it ends is still brought to its commit.
//
// The endpoint and the NATS connection are the caller's and must outlive Run, which
// needs them to drain:
//
//	d, err := dispatcher.New(cfg, endpoint, conn, log)
//	err = d.Run(ctx)   // ends after ctx, once drained
//	// only now: end the endpoint's Run, drain and close the connection
package dispatcher
