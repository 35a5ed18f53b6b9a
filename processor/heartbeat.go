package processor

import (
	"context"
	"math/rand/v2"
	"time"

	"skyring/protocol/bus"
)

// helloWait is the longest random wait before a hello is answered, so that not all nodes answer at once.
const helloWait = 100 * time.Millisecond

// wish asks for a heartbeat before its time.
func (p *Processor) wish() {
	select {
	case p.announce <- struct{}{}:
	default: // one is wished for already
	}
}

// become goes one step towards the end and tells everybody.
func (p *Processor) become(s bus.NodeState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.ending = s, true
	p.beat()
}

// beats sends heartbeats until the processor stops.
func (p *Processor) beats(ctx context.Context) {
	var told steady
	p.sampler.Sample(time.Now()) // the CPU load of the next one is since then
	next := time.NewTimer(p.interval())
	defer next.Stop()
	due := time.Now().Add(p.interval())
	for {
		select {
		case <-p.stop:
			return
		case <-p.announce:
			if early := rand.N(helloWait); early < time.Until(due) {
				next.Reset(early)
			}
			continue
		case <-next.C:
		}
		p.readClock(ctx)
		p.approach(ctx)
		now := time.Now()
		measured := told.add(p.sampler.Sample(now), now)
		p.mu.Lock()
		p.load = measured
		p.beat()
		p.mu.Unlock()
		interval := p.interval()
		due = time.Now().Add(interval)
		next.Reset(interval)
	}
}

// interval is the configured one, give or take a fifth.
func (p *Processor) interval() time.Duration {
	fifth := p.cfg.Heartbeat / 5
	return p.cfg.Heartbeat - fifth + rand.N(2*fifth+1)
}

// beat sends a heartbeat. p.mu is held.
func (p *Processor) beat() {
	p.sequence++
	measured := p.meter.reading(time.Now())
	h := bus.Heartbeat{
		ID: p.cfg.ID, Incarnation: p.incarnation, Sequence: p.sequence, State: p.state, Capacity: p.capacity.announced,
		InFlight: uint32(max(0, p.meter.inFlight.Load())), MessagesPerSecond: measured.messages, ResponseMicros: measured.response, ClockOffset: p.clock.offset(time.Now()),
		CPU: p.load.CPU, Memory: p.load.Memory, BytesPerSecond: measured.bytes, InFlightLimit: p.cfg.InFlightLimit,
	}
	p.last = h
	if err := p.conn.Publish(p.cfg.Namespace.Heartbeats(), "", h.Append(nil)); err != nil {
		p.log.Debug().Err(err).Msg("heartbeat could not be sent")
	}
}
