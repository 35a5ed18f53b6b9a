package processor

import (
	"sync/atomic"

	"skyring/protocol/bus"
)

// Stats are counters since New.
type Stats struct {
	Frames    uint64 // envelope frames received
	BadFrames uint64 // that could not be read; nothing of them was used
	Envelopes uint64 // received in frames that could be read
	Bytes     uint64 // of payload in them

	Committed, Replayed, Stale, Gap, Expired, Unavailable, Quarantined, Refused uint64 // answers, by status

	Commits       uint64 // records written
	Loads         uint64 // records read
	Conflicts     uint64 // commits that found another record than the hint
	StoreFailures uint64 // commits and loads that the store did not answer or refused
	Rollbacks     uint64 // sessions found older than they were: the store lost writes
	Unreadable    uint64 // records found that this program can not read
	HandlerFaults uint64 // errors and panics of handlers
	Contended     uint64 // messages given up because others kept writing their session

	AnswerFailures uint64 // answers that could not be sent; the dispatcher sends the message again
	Notifications  uint64 // offered to other sessions
	Deliveries     uint64 // messages sent to dispatchers for stations
	Timers         uint64 // found due
	Swept          uint64 // outboxes that waited and were looked after
	SetAside       uint64 // notifications and timers on which handlers failed for good
	LegDropped     uint64 // messages for stations that were dropped, since too many waited for an association
	EventsDropped  uint64 // notifications and acknowledgements that found a full queue; they are found again in the state store
	Partitions     uint64 // leased now

	DroppedStopped uint64 // envelopes that came when the processor had stopped
}

// counters are Stats as they grow.
type counters struct {
	frames, badFrames, envelopes                                             atomic.Uint64
	status                                                                   [bus.Refused + 1]atomic.Uint64 // by bus.Status
	commits, loads, conflicts, storeFailures                                 atomic.Uint64
	notified, delivered, timers, swept, setAside, legDropped, eventsDropped  atomic.Uint64
	rollbacks, unreadable, handlerFaults, contended, answerFailures, dropped atomic.Uint64
}

// Stats tells what happened so far.
func (p *Processor) Stats() Stats {
	c := &p.counters
	return Stats{
		Frames: c.frames.Load(), BadFrames: c.badFrames.Load(), Envelopes: c.envelopes.Load(), Bytes: p.meter.bytes.Load(),
		Committed: c.status[bus.Committed].Load(), Replayed: c.status[bus.Replayed].Load(), Stale: c.status[bus.Stale].Load(), Gap: c.status[bus.Gap].Load(),
		Expired: c.status[bus.Expired].Load(), Unavailable: c.status[bus.Unavailable].Load(), Quarantined: c.status[bus.Quarantined].Load(), Refused: c.status[bus.Refused].Load(),
		Commits: c.commits.Load(), Loads: c.loads.Load(), Conflicts: c.conflicts.Load(), StoreFailures: c.storeFailures.Load(),
		Rollbacks: c.rollbacks.Load(), Unreadable: c.unreadable.Load(), HandlerFaults: c.handlerFaults.Load(), Contended: c.contended.Load(),
		Notifications: c.notified.Load(), Deliveries: c.delivered.Load(), Timers: c.timers.Load(), Swept: c.swept.Load(), SetAside: c.setAside.Load(),
		LegDropped: c.legDropped.Load(), EventsDropped: c.eventsDropped.Load(), Partitions: uint64(p.leases.count()),
		AnswerFailures: c.answerFailures.Load(), DroppedStopped: c.dropped.Load(),
	}
}
