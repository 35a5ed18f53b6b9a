package dispatcher

import (
	"errors"
	"fmt"
	"time"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
)

// rateInterval is how long a reading of messages a second goes over.
const rateInterval = time.Second

// rateMeter measures messages a second.
type rateMeter struct {
	at    time.Duration
	count uint64
	rate  float64
}

// look takes a reading when its time has come.
func (m *rateMeter) look(now time.Duration, count uint64) {
	if now-m.at < rateInterval {
		return
	}

	m.rate = float64(count-m.count) / (now - m.at).Seconds()
	m.at, m.count = now, count
}

// onStatus answers an operator's query.
func (d *Dispatcher) onStatus(m bus.Message) {
	status := d.Status()

	data, err := bus.AppendJSON(nil, &status)
	if err == nil {
		err = d.conn.Publish(m.Reply, "", data)
	}

	if err != nil {
		d.log.Warn().Err(err).Msg("status not sent")
	}
}

// Status is what the dispatcher says of itself to operators.
func (d *Dispatcher) Status() bus.DispatcherStatus {
	s := d.Stats()

	d.mu.Lock()
	rate, starved := d.rate.rate, d.core.Starved()
	d.mu.Unlock()

	status := bus.DispatcherStatus{
		ID: d.cfg.ID, Incarnation: bus.Hex(d.incarnation), Uptime: d.now().Seconds(), Address: d.endpoint.LocalAddr().String(),
		Draining: d.draining.Load(), Associations: s.Associations, Messages: s.Submitted, MessagesPerSecond: rate,
		Unanswered: s.Unanswered, Sessions: s.Sessions, Parked: s.Parked, GivenUp: s.GivenUp, Policy: d.cfg.Policy, RingBits: d.cfg.RingBits, RingEpsilon: d.cfg.RingEpsilon, Checksum: bus.Hex(s.Checksum),
		Listeners: d.listeners(), Nodes: make([]bus.NodeView, 0, len(s.Nodes)), Alarms: alarms(&s, d.conn.Stats(), starved),
	}

	if why := d.unfit.Load(); why != nil {
		status.Alarms = append(status.Alarms, "the configured policy cannot pick from the nodes that there are: "+*why)
	}

	for i := range s.Nodes {
		status.Nodes = append(status.Nodes, nodeView(&s.Nodes[i]))
	}

	return status
}

// listeners are the addresses at which SCTP arrives.
func (d *Dispatcher) listeners() []bus.ListenerStatus {
	arrivals := d.endpoint.Listeners()

	list := make([]bus.ListenerStatus, 0, len(arrivals))
	for _, at := range arrivals {
		list = append(list, bus.ListenerStatus{Mode: at.Mode.String(), Address: at.Address.String()})
	}

	return list
}

func nodeView(n *routing.NodeStats) bus.NodeView {
	return bus.NodeView{
		ID: n.ID, Status: n.Status.String(), Reason: n.Reason, Capacity: n.Capacity, Share: n.Share, Weight: n.Weight,
		InFlight: n.InFlight, Limit: n.Limit, HardCap: n.HardCap, Sessions: n.Sessions, Keys: n.Keys, Answered: n.Answered,
		CPU: n.Reported.CPU, Memory: n.Reported.Memory,
		MessagesPerSecond: n.Reported.MessagesPerSecond, ResponseMicros: n.Reported.ResponseMicros,
	}
}

// alarms are the conditions a person should look into, in sentences.
func alarms(s *Stats, conn bus.ConnStats, starved bool) []string {
	var texts []string

	if starved {
		texts = append(texts, fmt.Sprintf("no node takes messages, and %d wait", s.Unanswered))
	}

	for i := range s.Nodes {
		if s.Nodes[i].Twin {
			texts = append(texts, "two live processes have the node id "+s.Nodes[i].ID)
		}
	}

	for _, c := range []struct {
		count uint64
		text  string
	}{
		{s.Rollbacks, "Redis lost writes: epochs went back (times seen: %d)"},
		{s.Twins, "other live dispatchers have the id " + s.ID + " (seen: %d)"},
		{s.Dropped[routing.DropNodes.String()], "there are more nodes than maxNodes (heartbeats refused: %d)"},
		{conn.SlowConsumer, "NATS dropped messages because this process was too slow for them (times: %d)"},
	} {
		if c.count > 0 {
			texts = append(texts, fmt.Sprintf(c.text, c.count))
		}
	}

	return texts
}

// Ready is nil when the dispatcher serves stations, else why not.
func (d *Dispatcher) Ready() error {
	if d.draining.Load() {
		return errors.New("draining")
	}

	if !d.conn.Connected() {
		return errors.New("NATS does not answer")
	}

	s := d.Stats()
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Member && (n.Status == routing.Open || n.Status == routing.AtLimit) {
			return nil
		}
	}

	return errors.New("no node takes messages")
}
