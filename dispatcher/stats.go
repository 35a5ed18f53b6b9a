package dispatcher

import (
	"fmt"
	"maps"
	"sync/atomic"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/ring"
)

// Drop is why something went no further.
type Drop uint8

const (
	// DropAssociation is an association that was not served: it ended, or the dispatcher did, before there was an epoch.
	DropAssociation Drop = iota
	// DropTooLong is a message over MaxMessage; its association is aborted.
	DropTooLong
	// DropUnread is a message that came as the dispatcher ended and was not taken.
	DropUnread
	// DropPublish is an envelope whose frame NATS did not take; it stays in flight.
	DropPublish
	// DropAnswersFrame is an answers frame that is malformed.
	DropAnswersFrame
	// DropOtherIncarnation is an answer for a dispatcher of the same id that lived before.
	DropOtherIncarnation
	// DropHeartbeat is a heartbeat that is malformed.
	DropHeartbeat
	// DropReplyAssociation is a reply or receipt whose association has ended.
	DropReplyAssociation
	// DropReplyQueue is a reply, receipt or delivery to a peer that takes none; its association is aborted.
	DropReplyQueue
	// DropReplySend is a reply, receipt or delivery that could not be sent.
	DropReplySend
	// DropMalformed is an ESSP message that tells no station, after many of them in a row; its association is aborted.
	DropMalformed
	// DropDeliverFrame is a frame of messages for stations that is malformed.
	DropDeliverFrame
	// DropDelivered is the outcome of a delivery that no processor was told of.
	DropDelivered
	// DropHello is a dispatcher's hello that is malformed.
	DropHello
	// DropWhy is an operator's question that is malformed.
	DropWhy
	// DropForeignStation is an ESSP message under the id of a station for which the peer's proven identity may not speak; its association is aborted.
	DropForeignStation

	drops = int(DropForeignStation) + 1
)

// String is the reason as counters name it.
func (d Drop) String() string {
	switch d {
	case DropAssociation:
		return "association"
	case DropTooLong:
		return "message-too-long"
	case DropUnread:
		return "message-unread"
	case DropPublish:
		return "publish"
	case DropAnswersFrame:
		return "answers-frame"
	case DropOtherIncarnation:
		return "answer-other-incarnation"
	case DropHeartbeat:
		return "heartbeat"
	case DropReplyAssociation:
		return "reply-association"
	case DropReplyQueue:
		return "reply-queue"
	case DropReplySend:
		return "reply-send"
	case DropMalformed:
		return "message-malformed"
	case DropDeliverFrame:
		return "deliver-frame"
	case DropDelivered:
		return "delivered"
	case DropHello:
		return "hello"
	case DropWhy:
		return "why"
	case DropForeignStation:
		return "foreign-station"
	default:
		return fmt.Sprintf("drop(%d)", uint8(d))
	}
}

// counters are the shell's; those of messages in flight are the core's.
type counters struct {
	dropped      [drops]atomic.Uint64
	frames       atomic.Uint64
	noResponders atomic.Uint64
	askErrors    atomic.Uint64
	rollbacks    atomic.Uint64
	replies      atomic.Uint64
	receipts     atomic.Uint64
	outdated     atomic.Uint64
	delivered    [bus.NoAssociation + 1]atomic.Uint64 // by bus.DeliveredStatus
}

func (c *counters) drop(why Drop, n int) { c.dropped[why].Add(uint64(n)) } //nolint:gosec // never negative

// Stats is a snapshot of a dispatcher's counters and gauges. Maps hold what is not 0.
type Stats struct {
	ID           string
	Incarnation  uint64
	Connected    bool // to NATS
	Associations int  // served now

	Submitted  uint64 // messages taken
	Unanswered int    // of them, not done yet
	Sessions   int    // keys with such messages
	Parked     int    // keys that no node has room for
	GivenUp    uint64 // messages that were not answered in time and are their sender's to send again

	Written  uint64 // envelopes, resends included
	Probes   uint64 // envelopes besides, that only see whether a node is there
	Frames   uint64 // NATS messages that carried them
	Replies  uint64 // sent to stations
	Receipts uint64 // sent to stations
	Outdated uint64 // associations aborted because a processor said so

	Protocols  map[string]uint64 // messages, by payload protocol
	Deliveries map[string]uint64 // messages that processors wanted to be sent, by outcome
	Answers    map[string]uint64 // used, by status
	Resent     map[string]uint64 // messages, by cause
	Picks      map[string]uint64 // by the step that found a node, "bound" where a key's node is not its home
	Changes    map[string]uint64 // changes of nodes' states, by reason, "open" where there is none
	Dropped    map[string]uint64 // by reason
	Faults     map[string]uint64 // messages keyed by association for want of a better key, by fault

	NoResponders uint64 // reports of NATS that nobody listens
	NoBudget     uint64 // resends put off for want of budget
	AskErrors    uint64 // queries without an answer
	Rollbacks    uint64 // times that Redis was found to have lost writes
	Twins        uint64 // other live dispatchers seen under this one's id

	Checksum uint64 // of the ring: equal on all dispatchers with the same nodes; 0: none
	Nodes    []routing.NodeStats
}

// Stats takes a snapshot.
func (d *Dispatcher) Stats() Stats {
	d.mu.Lock()
	core, associations, faults, protocols := d.core.Stats(), len(d.associations), d.faults, d.protocols
	d.mu.Unlock()

	s := Stats{
		ID:           d.cfg.ID,
		Incarnation:  d.incarnation,
		Connected:    d.conn.Connected(),
		Associations: associations,
		Submitted:    core.Submitted,
		Unanswered:   core.Unanswered,
		Sessions:     core.Sessions,
		Parked:       core.Waiting,
		GivenUp:      core.GivenUp,
		Written:      core.Written,
		Probes:       core.Probes,
		Frames:       d.count.frames.Load(),
		Replies:      d.count.replies.Load(),
		Receipts:     d.count.receipts.Load(),
		Outdated:     d.count.outdated.Load(),
		Protocols:    byName[payloadProtocol](protocols[:]),
		Deliveries:   byName[bus.DeliveredStatus](loaded(d.count.delivered[:])),
		Answers:      byName[bus.Status](core.Answers[:]),
		Resent:       byName[routing.Cause](core.Resent[:]),
		Picks:        byName[ring.How](core.Picks[:]),
		Changes:      byName[routing.Reason](core.Changes[:]),
		Dropped:      byName[routing.Drop](core.Dropped[:]),
		Faults:       byName[key.Fault](faults[:]),
		NoResponders: d.count.noResponders.Load(),
		NoBudget:     core.NoBudget,
		AskErrors:    d.count.askErrors.Load(),
		Rollbacks:    d.count.rollbacks.Load(),
		Twins:        uint64(d.twins.count()), //nolint:gosec // positive
		Checksum:     core.Checksum,
		Nodes:        core.Nodes,
	}

	if core.Bound > 0 {
		s.Picks[routing.Bound] = core.Bound
	}

	maps.Copy(s.Dropped, byName[Drop](loaded(d.count.dropped[:])))

	return s
}

func loaded(counts []atomic.Uint64) []uint64 {
	values := make([]uint64, len(counts))
	for i := range counts {
		values[i] = counts[i].Load()
	}

	return values
}

// byName turns counters that are indexed by a named type into a map.
func byName[T interface {
	~uint8
	String() string
}](counts []uint64,
) map[string]uint64 {
	m := make(map[string]uint64)

	for i, n := range counts {
		if n > 0 {
			m[T(i).String()] = n //nolint:gosec // the type has room for its own values
		}
	}

	return m
}
