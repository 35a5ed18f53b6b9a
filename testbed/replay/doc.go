// Package replay plays the signalling of captures into a target over SCTP and judges
// what became of it.
//
//	capture ---> stations ---SCTP---> target (dispatcher, processors)
//	    |            ^                    |
//	    |            +----- receipts -----+       lost, doubled, out of order, latency
//	    v                                 v
//	expected sessions ---compare--- ledger in Redis
//
// A station is one captured endpoint that sent user messages; it becomes an SCTP
// association of its own. Its messages are sent with their stream, PPID and U bit, in
// the order and at the pace of the capture or as fast as the target answers. Streams
// past those the target grants are folded into them.
//
// There are two judges. Receipts (protocol/receipt) say of each message that it was
// committed, and when. The ledger (processor/ledger) holds count, bytes and hash chains
// of each session; replay computes the same from the capture by code of its own, so
// that a fault of the ledger's cannot hide itself. A target without receipts is judged
// by the ledger alone.
package replay
