// Package bus is what dispatchers and processors say to each other over NATS:
// subjects, frames of many envelopes, answers, heartbeats and epoch queries, and
// the connection with the options that this needs.
//
//	            skyring.<ns>.node.<id>    envelope frames, reply subject = disp.<id>
//	dispatcher ----------------------------------------------------------> processor
//	    ^  |    skyring.<ns>.ask.<id>     EpochRequest, EpochReply (request/reply)  ^ |
//	    |  +--- skyring.<ns>.hello        Hello --------------------------------------+ |
//	    |       skyring.<ns>.hb           Heartbeat <-----------------------------------+
//	    +------ skyring.<ns>.disp.<id>    answers frames, and NATS' own 503 <-----------+
//	    |       skyring.<ns>.disp.<id>    deliver frames, reply subject = dlv.<id> <----+
//	    +-----> skyring.<ns>.dlv.<id>     delivered frames
//
//	operator --- skyring.<ns>.status.disp     empty query, DispatcherStatus of each dispatcher
//	         --- skyring.<ns>.why.disp        Why, Explanation of each dispatcher
//	         --- skyring.<ns>.status.node     empty query, NodeStatus of each processor
//	         --- skyring.<ns>.ask.<id>        NodeRequest, NodeReply
//
// Subjects are fixed and correlation lies in the payload: a unique reply subject
// for each request costs 30 % of throughput, a header halves it. A frame carries
// whatever had queued while the writer was busy, so batching adds no delay.
//
// Status answers are JSON, for programs of operators to read. Everything else begins
// with a version byte and a kind byte and is big-endian. Frames are strict: a reader
// checks the whole frame before the first item is used.
// Heartbeats and queries ignore what follows the fields they know, so that two
// versions can run side by side.
package bus
