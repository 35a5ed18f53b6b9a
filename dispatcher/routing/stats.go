package routing

import (
	"fmt"
	"time"

	"skyring/protocol/bus"
	"skyring/ring"
)

// Status is what a node is to the dispatcher.
type Status uint8

const (
	// Open nodes take new keys.
	Open Status = iota
	// AtLimit nodes take none while another is open.
	AtLimit
	// Starting nodes are not ready yet.
	Starting
	// Draining nodes finish what they have.
	Draining
	// Suspect nodes miss heartbeats and get no new keys.
	Suspect
	// Stalled nodes let a deadline pass without any answer and get nothing until they give a sign of life.
	Stalled
	// Dead nodes are out until their next heartbeat.
	Dead
	// Left nodes said that they leave, and are gone.
	Left
)

// String is the status as operators read it.
func (s Status) String() string {
	switch s {
	case Open:
		return "open"
	case AtLimit:
		return "at-limit"
	case Starting:
		return "starting"
	case Draining:
		return "draining"
	case Suspect:
		return "suspect"
	case Stalled:
		return "stalled"
	case Dead:
		return "dead"
	case Left:
		return "left"
	default:
		return fmt.Sprintf("status(%d)", uint8(s))
	}
}

// Cause is why messages were sent again or moved.
type Cause uint8

const (
	// ByDeadline is a deadline that passed at a node which answered other messages.
	ByDeadline Cause = iota
	// ByStall is a deadline that passed at a node which answered nothing.
	ByStall
	// ByNoResponders is NATS' report that nobody listens on the node's subject.
	ByNoResponders
	// BySilence is four missed heartbeats.
	BySilence
	// ByRestart is a new incarnation of the node.
	ByRestart
	// ByReconnect is the return of the NATS server.
	ByReconnect
	// ByGap is the answer Gap.
	ByGap
	// ByExpired is the answer Expired.
	ByExpired
	// ByUnavailable is the answer Unavailable.
	ByUnavailable

	causes = int(ByUnavailable) + 1
)

// String is the cause as counters and logs name it.
func (c Cause) String() string {
	switch c {
	case ByDeadline:
		return "deadline"
	case ByStall:
		return "stall"
	case ByNoResponders:
		return "no-responders"
	case BySilence:
		return "silence"
	case ByRestart:
		return "restart"
	case ByReconnect:
		return "reconnect"
	case ByGap:
		return "gap"
	case ByExpired:
		return "expired"
	case ByUnavailable:
		return "unavailable"
	default:
		return fmt.Sprintf("cause(%d)", uint8(c))
	}
}

// Drop is why an answer or a heartbeat was not used.
type Drop uint8

const (
	// DropDone is an answer to an entry that is done: a late or repeated one.
	DropDone Drop = iota
	// DropAttempt is an answer of an older attempt that is no fact.
	DropAttempt
	// DropUnsent is an answer to an attempt that was not made.
	DropUnsent
	// DropOldHeartbeat is a heartbeat with a sequence that was seen.
	DropOldHeartbeat
	// DropTwin is a heartbeat of the incarnation before: two nodes share an id.
	DropTwin
	// DropNodes is a heartbeat of a node beyond the number that is listened to.
	DropNodes

	drops = int(DropNodes) + 1
)

// String is the reason as counters name it.
func (d Drop) String() string {
	switch d {
	case DropDone:
		return "answer-done"
	case DropAttempt:
		return "answer-attempt"
	case DropUnsent:
		return "answer-unsent"
	case DropOldHeartbeat:
		return "heartbeat-old"
	case DropTwin:
		return "heartbeat-twin"
	case DropNodes:
		return "heartbeat-nodes"
	default:
		return fmt.Sprintf("drop(%d)", uint8(d))
	}
}

const (
	statuses = int(bus.Refused) + 1
	hows     = int(ring.None)
)

// Counts are what a Core did since New. Indexes are the values of the named types.
type Counts struct {
	Submitted uint64           // messages taken
	Written   uint64           // envelopes written, resends included
	Probes    uint64           // envelopes written again to see whether a node is there
	Resent    [causes]uint64   // messages taken back to be sent again
	Answers   [statuses]uint64 // answers used, by bus.Status, which begins at 1
	Dropped   [drops]uint64    // answers and heartbeats not used
	Picks     [hows]uint64     // picks that found a node, by ring.How
	Bound     uint64           // picks of the node that a key is bound to, where that is not its home
	Changes   [reasons]uint64  // changes of nodes between open, at their limit and not to be picked, by the reason for the new state; NoReason: open
	Parked    uint64           // times that a key found no node
	NoBudget  uint64           // resends put off for want of budget
	GivenUp   uint64           // messages that were not answered in time and are their sender's to send again
}

// NodeStats are what the Core knows of one node.
type NodeStats struct {
	ID          string
	Incarnation uint64
	Status      Status
	Reason      string // why it is not open, in words with numbers; empty: it is
	Twin        bool   // a second live process has the id
	Member      bool   // it may be picked, as far as its status allows: the policy knows it
	Capacity    uint32
	Share       float64       // of the slots, 0 to 1; 0 with a policy without slots
	Weight      float64       // 1 minus the most used part of what the node may use: 1 idle, 0 at a limit, below beyond it
	InFlight    int           // messages
	Limit       int           // of them, from which the node is at its limit; follows the response
	HardCap     int           // of them, from which the node takes none; 0: there is none
	Response    time.Duration // smoothed, of its answers; 0: not known
	Bytes       int           // in flight
	Answered    uint64        // messages that it was the first to answer as done
	Sessions    int           // keys with messages in flight to it
	Keys        int           // keys used of late that have it as their node, as far as these are counted

	Reported bus.Heartbeat // the node's last one
}

// Stats are a Core's counters and gauges.
type Stats struct {
	Counts

	Unanswered int         // messages taken and not done
	Sessions   int         // keys with such messages
	Waiting    int         // keys that are parked
	Checksum   uint64      // of the slots; 0 with a policy without slots
	Nodes      []NodeStats // in order of their first heartbeat
}

// Stats returns counters and gauges.
func (c *Core) Stats() Stats {
	s := Stats{
		Counts:     c.counts,
		Unanswered: c.entries.len(),
		Sessions:   len(c.sessions),
		Waiting:    c.parked.len(),
		Nodes:      make([]NodeStats, 0, len(c.nodes)),
	}

	table, _ := c.policy.(placement)
	if table != nil {
		s.Checksum = table.Checksum()
	}

	for _, n := range c.nodes {
		s.Nodes = append(s.Nodes, c.nodeStats(n, table))
	}

	return s
}

// nodeStats are a node's, whose share is of a table if there is one.
func (c *Core) nodeStats(n *node, table placement) NodeStats {
	s := NodeStats{
		ID:          n.id,
		Incarnation: n.incarnation,
		Status:      n.status(),
		Reason:      c.words(n),
		Twin:        n.twin,
		Member:      n.index != ring.NoNode,
		Capacity:    n.capacity,
		Weight:      n.weight(),
		InFlight:    n.inFlight,
		Limit:       n.limit.Value(),
		Response:    n.response.Mean(),
		Bytes:       n.bytes,
		Answered:    n.answered,
		Sessions:    n.sessions.len(),
		Keys:        n.keys,
		Reported:    n.reported,
	}

	if n.hardCap != noCap {
		s.HardCap = n.hardCap
	}

	if table != nil && n.index != ring.NoNode {
		s.Share = float64(table.Share(n.index)) / float64(table.Slots())
	}

	return s
}
