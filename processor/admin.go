package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skyring/protocol/bus"
)

// againAfter is the pause before the store is asked again what operators decided.
const againAfter = 200 * time.Millisecond

// begin makes the processor ready, or drained if an operator decided so before it started. Until the store tells, it stays starting: it could do
// nothing without the store. It returns early when ctx ends.
func (p *Processor) begin(ctx context.Context) {
	for {
		node, err := p.store.Node(ctx, p.cfg.ID)
		if err == nil {
			err = p.resume(ctx)
		}
		if err == nil {
			p.administer(node.Drained)
			p.log.Info().Uint32("capacity", p.capacityNow().announced).Bool("drained", node.Drained).Msg("processor is ready")
			return
		}
		p.sometimes.Do(func() {
			p.log.Warn().Err(err).Msg("not ready: the state store does not tell what operators decided about the node")
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(againAfter):
		}
	}
}

// administer does what operators decided, unless the processor is about to end.
func (p *Processor) administer(drained bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drained = drained
	if p.ending {
		return
	}
	p.state = bus.Ready
	if drained {
		p.state = bus.Draining
	}
	p.beat()
}

// nodeRequest answers an operator.
func (p *Processor) nodeRequest(ctx context.Context, m bus.Message) {
	var reply bus.NodeReply
	request, err := bus.DecodeNodeRequest(m.Data)
	switch {
	case err != nil, request.Administration == bus.Inquire:
	case request.Administration.Weighs():
		err = p.weigh(ctx, request)
	default:
		err = p.decide(ctx, request.Administration == bus.Drain)
	}
	if err != nil {
		reply.Error = err.Error()
	}
	reply.Status = p.Status()
	answer(p, m, &reply)
}

// decide drains the node or ends that, for good: the store is told first.
func (p *Processor) decide(ctx context.Context, drain bool) error {
	if err := p.store.SetNode(ctx, p.cfg.ID, drain); err != nil {
		return fmt.Errorf("the decision could not be kept: %w", err)
	}
	p.administer(drain)
	p.log.Info().Bool("drained", drain).Msg("an operator decided")
	return nil
}

// statusQuery answers a query for the status of all nodes.
func (p *Processor) statusQuery(m bus.Message) {
	status := p.Status()
	answer(p, m, &status)
}

func answer[T bus.NodeStatus | bus.NodeReply](p *Processor, m bus.Message, v *T) {
	data, err := bus.AppendJSON(nil, v)
	if err == nil {
		err = p.conn.Publish(m.Reply, "", data)
	}
	if err != nil {
		p.log.Warn().Err(err).Msg("status could not be sent")
	}
}

// Status is what the processor says of itself to operators.
func (p *Processor) Status() bus.NodeStatus {
	p.mu.Lock()
	state, drained, last, capacity := p.state, p.drained, p.last, p.capacity
	p.mu.Unlock()
	steps, takes := capacity.left(p.storeTime())
	return bus.NodeStatus{
		ID: p.cfg.ID, Incarnation: bus.Hex(p.incarnation), Uptime: time.Since(p.meter.start).Seconds(),
		State: state.String(), Drained: drained, Alarms: p.alarmTexts(),
		Capacity: capacity.announced, InFlight: p.meter.inFlight.Load(), MessagesPerSecond: last.MessagesPerSecond, ResponseMicros: last.ResponseMicros,
		ClockOffsetMicros: p.clock.offset(time.Now()), Commits: p.commits.Load(),
		CPU: last.CPU, Memory: last.Memory, BytesPerSecond: last.BytesPerSecond, InFlightLimit: p.cfg.InFlightLimit,
		CapacityTarget: capacity.target, CapacitySteps: steps, CapacitySeconds: takes.Seconds(),
	}
}

// alarmTexts are the conditions a person should look into, in sentences.
func (p *Processor) alarmTexts() []string {
	var texts []string
	if p.away.Load() {
		texts = append(texts, "the state store does not answer")
	}
	for _, c := range []struct {
		count uint64
		text  string
	}{
		{p.rollbacks.Load(), "the state store lost writes that it had acknowledged (times seen: %d)"},
		{p.status[bus.Quarantined].Load(), "messages were set aside because their handler fails on them: %d"},
		{p.setAside.Load(), "notifications and timers were set aside because their handler fails on them: %d"},
		{p.unreadable.Load(), "records of sessions can not be read (times seen: %d)"},
		{p.conn.Stats().SlowConsumer, "NATS dropped messages because this process was too slow for them (times: %d)"},
	} {
		if c.count > 0 {
			texts = append(texts, fmt.Sprintf(c.text, c.count))
		}
	}
	return texts
}

// Ready is nil when dispatchers may pick the node, else why not.
func (p *Processor) Ready() error {
	status := p.Status()
	switch {
	case !p.conn.Connected():
		return errors.New("NATS does not answer")
	case p.away.Load():
		return errors.New("the state store does not answer")
	case status.Drained:
		return errors.New("drained by an operator")
	case status.State != bus.Ready.String():
		return errors.New(status.State)
	}
	return nil
}
