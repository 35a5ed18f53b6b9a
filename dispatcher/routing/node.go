package routing

import (
	"time"

	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/gauge"
	"skyring/ring/policy"
)

// node is a processor, from its first heartbeat on.
type node struct {
	id            string
	incarnation   uint64
	previous      uint64 // the incarnation before, 0: none
	previousBeats uint64 // and its last heartbeat
	twin          bool   // reported that it still lives
	beats         uint64 // sequence of the last heartbeat
	beatAt        time.Duration
	announced     bus.NodeState
	capacity      uint32
	reported      bus.Heartbeat // the last one, whole

	alive   bool // heard of, not declared dead since
	suspect bool // heartbeats are missing
	stalled bool // let a deadline pass without a sign of life

	heard    uint64        // event of its last answer
	written  int           // messages that went to it, of those in flight
	probeAt  time.Duration // when it is probed next, unless it answers, while written is not 0
	probes   int           // since its last answer
	probe    *entry        // to be written again, nil: none
	inFlight int
	bytes    int
	maxBytes int // in flight, from which it takes none
	answered uint64
	limit    gauge.Limit    // of messages in flight
	hardCap  int            // likewise
	response gauge.Response // to its messages

	failures    uint32 // messages not answered in time, of this incarnation
	consecutive uint32 // of them since the last answer

	strain       gauge.Strain
	strainedBy   Reason // ByCPU or ByMemory, NoReason: its reports do not put it at its limit
	report       policy.Report
	appraised    uint64 // answered when report was made
	inFlightThen int    // messages in flight when the last report came

	keys    int     // bound to it, of those used of late
	keyFull bool    // the policy was told that it has its share of keys
	share   float64 // of all capacity, by the present policy

	index int        // with the policy, ring.NoNode: it does not know the node
	state ring.State // what the policy was told

	sessions list[session] // bound to it
	outbox   list[entry]   // assigned and not written yet
}

func (n *node) load(messages, bytes int) {
	n.inFlight += messages
	n.limit.Loaded(n.inFlight)
	n.bytes += bytes
}

// eligible nodes may be picked.
func (n *node) eligible() bool {
	return n.alive && n.announced == bus.Ready && !n.suspect && !n.stalled
}

// full nodes are at their limit, by the dispatcher's own counts.
func (n *node) full() bool { return n.inFlight >= n.limit.Value() || n.bytes >= n.maxBytes }

// member nodes are part of the ring.
func (n *node) member() bool {
	return n.alive && (n.announced == bus.Ready || n.announced == bus.Draining)
}

// status is the word for what the node is to the dispatcher.
func (n *node) status() Status {
	switch {
	case !n.alive && n.announced == bus.Leaving:
		return Left
	case !n.alive:
		return Dead
	case n.stalled:
		return Stalled
	case n.suspect:
		return Suspect
	case n.announced == bus.Starting:
		return Starting
	case n.announced == bus.Draining, n.announced == bus.Leaving:
		return Draining
	case n.full(), n.strain.Held():
		return AtLimit
	default:
		return Open
	}
}
