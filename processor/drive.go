package processor

import (
	"encoding/binary"
	"errors"
	"slices"

	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/statestore"
)

const (
	// offerLife is how long what was read of a record may be acted on by others; us. Over it, its effects are refused.
	offerLife = 10_000_000
	// offerWindow is how many entries for one session are on the way at a time, in order.
	offerWindow = 8
	// legWindow is the same for a leg: they go in one frame, and no other one goes before they are answered.
	legWindow = 16
	// progressMemory is how many outboxes a worker remembers to have offered of.
	progressMemory = 1 << 14
)

// progress is what of an outbox was offered. It only saves work: who forgets it offers once more.
type progress []span

// span is what was offered to one destination.
type span struct {
	destination string // of the leg: its epoch too
	first, last uint64
	since       int64 // when first was offered, us
}

func (p progress) find(destination string) span {
	for _, s := range p {
		if s.destination == destination {
			return s
		}
	}
	return span{destination: destination}
}

// tell queues an event for its session's worker. It never waits, so that workers can not wait for each other: what finds no room is dropped, and found
// again in the state store by whoever has the partition.
func (p *Processor) tell(ev *event) {
	if p.crash != nil && p.crash(telling, ev) {
		return
	}
	p.queued.Add(1)
	select {
	case p.workers[p.workerOf(ev.key)].events <- ev:
	default:
		p.queued.Add(-1)
		p.eventsDropped.Add(1)
	}
}

// workerOf is the worker that a session belongs to.
func (p *Processor) workerOf(k []byte) uint64 { return key.Hash(k) >> 32 % uint64(len(p.workers)) }

// follow lets a batch that is committed have its consequences.
func (w *worker) follow(groups []*group, events []*event) {
	out := outgoing{w: w}
	for _, g := range groups {
		for _, a := range g.out.acks {
			w.tell(&event{
				kind: acknowledged, key: a.event.peer, peer: a.event.key, line: a.event.line, number: a.event.number, mark: a.mark,
				expiry: max(g.written, g.input.now) + offerLife,
			})
		}
		if g.written != 0 {
			w.drive(&out, g.input.key, g.out.record, g.written)
			w.lookForPeers(g)
		}
	}
	for _, ev := range events {
		if ev.kind == swept {
			w.drive(&out, ev.key, ev.record, ev.time)
		}
	}
	out.send()
}

// drive offers what waits in the outbox of a record that was the stored one at a time: to each destination the oldest and what follows it, unless
// that was done just before.
func (w *worker) drive(out *outgoing, k []byte, r *statestore.Record, at int64) {
	if !r.Pending() {
		w.progress.Remove(string(k))
		return
	}
	before, _ := w.progress.Get(string(k))
	var now progress
	for i := range r.Outbox {
		e := &r.Outbox[i]
		if forLeg(*e) {
			continue
		}
		name := string(e.Destination)
		s := now.find(name)
		oldest := s.first == 0
		if oldest {
			s = w.resume(before.find(name), e.Number, at)
			now = append(now, s)
		}
		if e.Number <= s.last || e.Number >= s.first+offerWindow {
			continue
		}
		w.notified.Add(1)
		w.tell(&event{
			kind: offered, key: e.Destination, expiry: at + offerLife, peer: k, line: r.Line, number: e.Number, oldest: oldest, payload: e.Payload,
		})
		now.reached(name, e.Number)
	}
	w.progress.Add(string(k), w.driveLeg(out, k, r, at, before, now))
}

// driveLeg sends what waits for the leg, when nothing is on the way to it: so nothing is overtaken.
func (w *worker) driveLeg(out *outgoing, k []byte, r *statestore.Record, at int64, before, now progress) progress {
	first := slices.IndexFunc(r.Outbox, forLeg)
	if first < 0 || r.Leg == nil || r.Leg.Gone {
		return now
	}
	name := string(binary.BigEndian.AppendUint64([]byte("leg "), r.Leg.Epoch))
	s := w.resume(before.find(name), r.Outbox[first].Number, at)
	if s.last < s.first {
		for i := first; i < len(r.Outbox); i++ {
			e := &r.Outbox[i]
			if !forLeg(*e) {
				continue
			}
			if e.Number >= s.first+legWindow || !out.add(k, r, e, i == first) {
				break
			}
			s.last = e.Number
		}
	}
	return append(now, s)
}

// resume is what of a destination's entries, the oldest of which has a number, is on the way.
func (w *worker) resume(s span, oldest uint64, at int64) span {
	if s.first != oldest {
		s.first, s.since = oldest, at
	} else if at-s.since >= w.cfg.SweepAge.Microseconds() {
		s.last, s.since = 0, at
	}
	return s
}

// reached notes that a number is on the way.
func (p progress) reached(destination string, number uint64) {
	for i := range p {
		if p[i].destination == destination {
			p[i].last = number
		}
	}
}

// lookForPeers has it looked which of many peers are still there.
func (w *worker) lookForPeers(g *group) {
	r := g.out.record
	if len(r.Peers) <= manyPeers {
		return
	}
	if last, _ := w.looked.Get(g.key); g.written-last < offerLife {
		return
	}
	w.looked.Add(g.key, g.written)
	select {
	case w.looks <- look{key: g.input.key, peers: r.Peers}:
	default: // there are enough to look for
	}
}

// outgoing collects what goes to stations, one frame for each dispatcher.
type outgoing struct {
	w      *worker
	frames []deliverFrame
}

type deliverFrame struct {
	dispatcher  string
	incarnation uint64
	writer      bus.DeliverWriter
}

// add takes an entry for the leg, and tells whether it goes.
func (o *outgoing) add(k []byte, r *statestore.Record, e *statestore.Entry, oldest bool) bool {
	w := o.w
	d := bus.Delivery{Epoch: r.Leg.Epoch, Stream: r.Leg.Stream, PPID: r.Leg.PPID, Payload: e.Payload}
	limit := w.conn.MaxPayload()
	if d.Size()+bus.DeliverFrameOverhead > limit {
		if oldest {
			w.tooLarge(k, r, e)
		}
		return false
	}
	var registered bool
	if d.Number, registered = w.deliveries.register(delivery{
		key: k, line: r.Line, number: e.Number, epoch: r.Leg.Epoch, since: e.Since, dispatcher: r.Leg.Dispatcher, sent: w.redisNow(),
	}); !registered {
		w.eventsDropped.Add(1)
		return false
	}
	f := o.frame(r.Leg)
	if f.writer.Count() > 0 && f.writer.Len()+d.Size() > limit {
		o.flush(f)
	}
	err := f.writer.Append(&d)
	if errors.Is(err, bus.ErrFrameFull) {
		o.flush(f)
		err = f.writer.Append(&d)
	}
	if err != nil {
		w.tooLarge(k, r, e)
		return false
	}
	w.delivered.Add(1)
	return true
}

// tooLarge sets a message aside that the bus does not carry.
func (w *worker) tooLarge(k []byte, r *statestore.Record, e *statestore.Entry) {
	w.setAside.Add(1)
	w.log.Error().Str("session", format(k)).Int("bytes", len(e.Payload)).Int("limit", w.conn.MaxPayload()).
		Msg("message for a station can not go over the bus, set aside")
	w.tell(&event{kind: legTook, key: k, line: r.Line, number: e.Number, epoch: r.Leg.Epoch, expiry: w.redisNow() + offerLife})
}

func (o *outgoing) frame(l *statestore.Leg) *deliverFrame {
	for i := range o.frames {
		if f := &o.frames[i]; f.dispatcher == l.Dispatcher && f.incarnation == l.Incarnation {
			return f
		}
	}
	o.frames = append(o.frames, deliverFrame{dispatcher: l.Dispatcher, incarnation: l.Incarnation})
	f := &o.frames[len(o.frames)-1]
	f.writer.Reset(nil, l.Incarnation, o.w.incarnation)
	return f
}

func (o *outgoing) flush(f *deliverFrame) {
	if f.writer.Count() == 0 {
		return
	}
	w, ns := o.w, o.w.cfg.Namespace
	if err := w.conn.Publish(ns.Dispatcher(f.dispatcher), ns.Delivered(w.cfg.ID), f.writer.Bytes()); err != nil {
		w.sometimes.Do(func() { w.log.Warn().Err(err).Msg("messages for stations could not be sent, they are sent again") })
	}
	f.writer.Reset(nil, f.incarnation, w.incarnation)
}

func (o *outgoing) send() {
	for i := range o.frames {
		o.flush(&o.frames[i])
	}
}
