package processor

import (
	"sync"

	"skyring/protocol/bus"
)

const (
	// maxDeliveries bounds what is on the way to stations of one dispatcher and not answered, so that one which sleeps is at no other's cost; more
	// waits in the outboxes.
	maxDeliveries = 1 << 16
	// answerWait is how long an answer to a delivery is of use; us.
	answerWait = 5_000_000
	// legPatience is how long a message waits for a dispatcher that nobody hears of before its association is taken for gone; us.
	legPatience = 10_000_000
)

// delivery is one message on its way to a station.
type delivery struct {
	key         []byte // of the session
	line        int64
	number      uint64 // in the outbox
	epoch       uint64 // of the association
	dispatcher  string
	since, sent int64 // when it was put into the outbox, and sent; us, Redis time
}

// deliveries are those not answered.
type deliveries struct {
	mu      sync.Mutex
	last    uint64              // guarded by mu; number given
	waiting map[uint64]delivery // guarded by mu
	counts  map[string]int      // guarded by mu; of those that wait, by dispatcher
}

// register gives a delivery its number; not when there are too many.
func (d *deliveries) register(one delivery) (number uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts[one.dispatcher] >= maxDeliveries {
		return 0, false
	}
	d.last++
	d.waiting[d.last] = one
	d.counts[one.dispatcher]++
	return d.last, true
}

// end forgets a delivery; mu is held.
func (d *deliveries) end(number uint64, one delivery) {
	delete(d.waiting, number)
	if d.counts[one.dispatcher]--; d.counts[one.dispatcher] == 0 {
		delete(d.counts, one.dispatcher)
	}
}

// take ends the wait for an answer.
func (d *deliveries) take(number uint64) (delivery, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok := d.waiting[number]
	if ok {
		d.end(number, one)
	}
	return one, ok
}

// takeAll ends the wait for a dispatcher's answers.
func (d *deliveries) takeAll(dispatcher string) []delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []delivery
	for number, one := range d.waiting {
		if one.dispatcher == dispatcher {
			all = append(all, one)
			d.end(number, one)
		}
	}
	return all
}

// purge ends the waits that began before a time.
func (d *deliveries) purge(before int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for number, one := range d.waiting {
		if one.sent < before {
			d.end(number, one)
		}
	}
}

func (d *deliveries) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

// answered takes a frame of answers from a dispatcher, or NATS' word that it is not there.
func (p *Processor) answered(m bus.Message) {
	if m.NoResponders {
		p.nobody(m.For)
		return
	}
	r, err := bus.DecodeDelivered(m.Data)
	if err != nil {
		p.badFrames.Add(1)
		p.sometimes.Do(func() { p.log.Error().Err(err).Msg("answers of a dispatcher can not be read") })
		return
	}
	if r.Node() != p.incarnation {
		return
	}
	var d bus.Delivered
	for r.Next(&d) {
		if one, ok := p.deliveries.take(d.Number); ok {
			p.toldOfLeg(one, d.Status)
		}
	}
}

// nobody waits a while for a dispatcher that is not there: it may be about to come back.
func (p *Processor) nobody(subject string) {
	id, ok := p.cfg.Namespace.DispatcherID(subject)
	if !ok {
		return
	}
	for _, one := range p.deliveries.takeAll(id) {
		if p.redisNow()-one.since > legPatience {
			p.toldOfLeg(one, bus.NoAssociation)
		}
	}
}

func (p *Processor) toldOfLeg(one delivery, status bus.DeliveredStatus) {
	ev := &event{kind: legTook, key: one.key, line: one.line, number: one.number, epoch: one.epoch, expiry: p.redisNow() + offerLife}
	if status == bus.NoAssociation {
		ev.kind = legGone
	}
	p.tell(ev)
}
