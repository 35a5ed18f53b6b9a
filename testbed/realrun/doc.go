// Package realrun runs a simulated load in real time against a real installation, and says how far the simulation was from it.
//
// Each round is one policy under one seed. The messages, their stations, their times and the work they make are those of the simulation
// (simulate.Messages); everything else is the product: SCTP over UDP on loopback, a dispatcher, NATS, processors and redis-server.
//
//	compare.Config, scaled ──> simulate.Messages ──> generator ──SCTP──> dispatcher ──NATS──> processors
//	        │                                           ^                                       │ a worker waits for the message's work,
//	        │                                           └───────── answer: which node ──────────┘ then commits to Redis
//	        └──> simulate.Run, with the measured idle way as Hop ──> compared with the answers
//
// Stations are sessions. A message has ESSP's header, under a PPID of its own as the site's for ESSP, so that the dispatcher takes the key of the
// station that the simulation hashes, byte for byte: nodes of the same name have the same stations in both. What ESSP means by it does
// not matter, since the processors have one handler for all that comes.
//
// Both keep a station's messages at one node while some are in flight (simulate.Config.Window), which makes up much of a share on the same node where
// stations are few: Round.Overlapping.
//
// What the simulation does not know, and a real run has:
//
//   - The way over SCTP and NATS. It is measured after each round on idle nodes, as the median response of messages without work, and the simulation gets half
//     of it each way.
//   - Commits, and timers that fire late: both keep a worker busy beyond the work. Round.Overrun tells of the timers. Work of 50 ms makes it small.
//   - The bound on keys of a node, which ring policies have in the dispatcher: a few stations have another node than the ring says. Round.OffHome tells
//     of how many messages. Loads become more even by it, and no station moves.
package realrun
