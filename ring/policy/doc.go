// Package policy holds the algorithms that may pick a processor for a message: the slot
// ring that skyring uses, and every rival it is compared with, each in a file of its own
// with its source named. All of them have one interface, so that a dispatcher and the
// simulator run the same code.
//
//	heartbeats --> SetReport --+
//	own counts --> SetLoad  ---+--> Policy --Pick(Query)--> ring.Choice{node, how}
//	membership --> SetState ---+
//
// # Limits
//
// Most of these algorithms were published without a notion of a node that is full. With
// [RespectLimits], which a dispatcher needs (no saturated node gets a message while
// one is open), they choose among the open nodes, and the best weight below the hard cap is
// the last resort of all of them. With [IgnoreLimits], which is how they were printed, only ineligible nodes
// and those at their hard cap are left out.
//
// # Concurrency
//
// A Policy is used by one goroutine at a time. The ring itself (skyring/ring) allows more.
package policy
