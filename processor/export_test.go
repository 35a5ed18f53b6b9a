package processor

import (
	"time"

	"skyring/processor/load"
	"skyring/protocol/bus"
	"skyring/statestore"
)

// Rules that a test may switch off, to show what they protect from.
const (
	MarkRule       = markRule
	ExpiryRule     = expiryRule
	PeerMarkRule   = peerMarkRule
	PeerGoneRule   = peerGoneRule
	GenerationRule = generationRule
	OutboxRule     = outboxRule
	RollbackRule   = rollbackRule
	ResyncRule     = resyncRule
	PoisonRule     = poisonRule
)

// Points at which a test may let a processor forget all that it is about to do.
const (
	BeforeBatch = beforeBatch
	AfterCommit = afterCommit
	Telling     = telling
)

// Steady is the load that heartbeats tell.
type Steady struct{ steady }

// Add takes a measurement.
func (s *Steady) Add(measured load.Load, now time.Time) load.Load { return s.add(measured, now) }

// Point is one of them.
type Point = crashPoint

// Event is what a processor tells itself.
type Event struct{ ev *event }

// Offered tells that the event is a notification, Fired that it is a timer's, Acknowledged that it says what a destination has.
func (e Event) Offered() bool { return e.ev != nil && e.ev.kind == offered }

// Fired tells that it is a timer's.
func (e Event) Fired() bool { return e.ev != nil && e.ev.kind == fired }

// Acknowledged tells that it says what a destination, or the leg, has.
func (e Event) Acknowledged() bool {
	return e.ev != nil && (e.ev.kind == acknowledged || e.ev.kind == legTook)
}

// Happened are events of each kind that changes a record which has sent one notification to peer, one message to its leg, and has armed one timer.
func Happened(r *statestore.Record, peer []byte, expiry int64) map[string]Event {
	base := event{key: []byte("key"), line: r.Line, number: 1, expiry: expiry}
	events := map[string]Event{}
	for name, change := range map[string]func(*event){
		"acknowledged": func(ev *event) { ev.kind, ev.peer, ev.mark = acknowledged, peer, 1 },
		"leg took":     func(ev *event) { ev.kind, ev.epoch = legTook, r.Leg.Epoch },
		"leg gone":     func(ev *event) { ev.kind, ev.epoch = legGone, r.Leg.Epoch },
		"fired":        func(ev *event) { ev.kind, ev.timer = fired, r.Timers[0] },
		"peers gone":   func(ev *event) { ev.kind, ev.peers = peersGone, r.Peers },
		"offered":      func(ev *event) { ev.kind, ev.peer, ev.payload = offered, []byte("\xF0other"), []byte("x") },
	} {
		ev := base
		change(&ev)
		events[name] = Event{&ev}
	}
	return events
}

// For is the session that gets it.
func (e Event) For() string { return string(e.ev.key) }

// From is the other session.
func (e Event) From() string { return string(e.ev.peer) }

// Until is the event with another expiry.
func (e Event) Until(expiry int64) Event {
	c := *e.ev
	c.expiry = expiry
	return Event{&c}
}

// Crash has a processor forget what it is about to do where f says so; before Run.
func (p *Processor) Crash(f func(Point, Event) bool) {
	p.crash = func(at crashPoint, ev *event) bool { return f(at, Event{ev}) }
}

// Tell gives a processor an event: it is how one that slept goes on.
func (p *Processor) Tell(e Event) {
	p.queued.Add(1)
	p.workers[p.workerOf(e.ev.key)].events <- e.ev
}

// Idle tells that no event waits or is worked on.
func (p *Processor) Idle() bool { return p.queued.Load() == 0 }

// Without switches a rule off, before Run.
func (p *Processor) Without(r rule) { p.engine.without = r }

// Judgement is one run of the engine.
type Judgement struct {
	Handlers  Handlers
	Record    *statestore.Record
	FromHint  bool
	Now       int64
	Longest   int64
	Condemned bool
	Envelopes []bus.Envelope
	Events    []Event
}

// Verdict is what it said.
type Verdict struct {
	Reread  bool
	Record  *statestore.Record
	Expiry  int64
	Answers []bus.Answer
	Faults  int
}

// Judge runs the engine.
func Judge(j Judgement) Verdict {
	in := input{
		key: []byte("key"), record: j.Record, known: fromStore, now: j.Now,
		condemned: func(failureID) bool { return j.Condemned },
	}
	for i := range j.Envelopes {
		in.envelopes = append(in.envelopes, &j.Envelopes[i])
	}
	for _, ev := range j.Events {
		in.events = append(in.events, ev.ev)
	}
	if j.FromHint {
		in.known = fromHint
	}
	o := engine{handlers: j.Handlers, node: "node", longest: j.Longest}.run(in)
	return Verdict{Reread: o.reread, Record: o.record, Expiry: o.expiry, Answers: o.answers, Faults: len(o.faults)}
}

// Meter measures load.
type Meter struct{ meter *meter }

// NewMeter starts at a time.
func NewMeter(now time.Time) Meter { return Meter{newMeter(now)} }

// Begin notes messages that came.
func (m Meter) Begin(n, bytes int, now time.Time) { m.meter.begin(n, bytes, now) }

// End notes messages that are answered.
func (m Meter) End(n int, arrived, now time.Time) { m.meter.end(n, arrived, now) }

// Reading is the load since the last one.
func (m Meter) Reading(now time.Time) (messages, bytes, response uint32) {
	r := m.meter.reading(now)
	return r.messages, r.bytes, r.response
}

// Quiet tells for how long there was nothing to do.
func (m Meter) Quiet(now time.Time) time.Duration { return m.meter.quiet(now) }

// Clock is what is known of the store's.
type Clock struct{ clock clock }

// Take takes a reading.
func (c *Clock) Take(redis int64, asked, answered time.Time) { c.clock.take(redis, asked, answered) }

// Now is the store's time.
func (c *Clock) Now(here time.Time) int64 { return c.clock.now(here) }

// MaxDeliveries may be on the way to one dispatcher.
const MaxDeliveries = maxDeliveries

// Deliveries are those not answered.
type Deliveries struct{ deliveries deliveries }

// NewDeliveries has none.
func NewDeliveries() *Deliveries {
	return &Deliveries{deliveries{waiting: map[uint64]delivery{}, counts: map[string]int{}}}
}

// Register begins a wait.
func (d *Deliveries) Register(dispatcher string) (uint64, bool) {
	return d.deliveries.register(delivery{dispatcher: dispatcher})
}

// Take ends a wait, TakeAll those for a dispatcher.
func (d *Deliveries) Take(number uint64) bool {
	_, ok := d.deliveries.take(number)
	return ok
}

// TakeAll ends the waits for a dispatcher.
func (d *Deliveries) TakeAll(dispatcher string) int { return len(d.deliveries.takeAll(dispatcher)) }

// Capacity is what a node announces. Methods give the next one.
type Capacity struct{ capacity capacity }

// NewCapacity announces what is configured.
func NewCapacity(cfg Config, now time.Time) Capacity { return Capacity{newCapacity(cfg, now)} }

// Aim sets a target.
func (c Capacity) Aim(target uint32, now time.Time) Capacity {
	return Capacity{c.capacity.aim(target, now)}
}

// Jump announces another one at once.
func (c Capacity) Jump(target uint32, now time.Time) Capacity {
	return Capacity{c.capacity.jump(target, now)}
}

// Approach takes a step if one is due.
func (c Capacity) Approach(now time.Time) (Capacity, bool) {
	next, stepped := c.capacity.approach(now)
	return Capacity{next}, stepped
}

// Restart is what a new process with that configuration has.
func (c Capacity) Restart(cfg Config, now time.Time) (Capacity, bool) {
	next, kept := newCapacity(cfg, now).resume(c.capacity.kept())
	return Capacity{next}, kept
}

// Left is how many steps there are, and how long they take.
func (c Capacity) Left(now time.Time) (int, time.Duration) { return c.capacity.left(now) }

// Announced is what dispatchers hear.
func (c Capacity) Announced() uint32 { return c.capacity.announced }
