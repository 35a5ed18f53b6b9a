package processor

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"skyring/protocol/bus"
)

// Register adds the processor's metrics to a registry, each with the label node. They are read from Stats when they are asked for; messages pay
// nothing. docs/operations.md lists them.
func (p *Processor) Register(r prometheus.Registerer) error {
	if err := r.Register(newCollector(p)); err != nil {
		return fmt.Errorf("register the metrics of processor %s: %w", p.cfg.ID, err)
	}
	return nil
}

// collector makes metrics of Stats.
type collector struct {
	p       *Processor
	numbers []number
	answers *prometheus.Desc
	state   *prometheus.Desc
}

// number is a metric without labels of its own.
type number struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s *Stats, n *bus.NodeStatus) float64
}

// states are those that a node may be in.
func states() []bus.NodeState {
	return []bus.NodeState{bus.Starting, bus.Ready, bus.Draining, bus.Leaving}
}

func newCollector(p *Processor) *collector {
	c := &collector{p: p}
	c.answers = c.desc("answers_total", "Messages answered, by status.", "status")
	c.state = c.desc("state", "1 for the state that the node announces.", "state")
	c.gauges()
	c.traffic()
	c.store()
	c.sessions()
	return c
}

func (c *collector) desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("skyring_processor_"+name, help, labels, prometheus.Labels{"node": c.p.cfg.ID})
}

func (c *collector) gauge(name, help string, value func(*Stats, *bus.NodeStatus) float64) {
	c.numbers = append(c.numbers, number{c.desc(name, help), prometheus.GaugeValue, value})
}

func (c *collector) counter(name, help string, value func(*Stats) uint64) {
	c.numbers = append(c.numbers, number{
		c.desc(name, help), prometheus.CounterValue, func(s *Stats, _ *bus.NodeStatus) float64 { return float64(value(s)) },
	})
}

func (c *collector) gauges() {
	c.gauge("uptime_seconds", "Time since the start.", func(_ *Stats, n *bus.NodeStatus) float64 { return n.Uptime })
	c.gauge("capacity", "Messages a second that the node takes for its share of the ring.",
		func(_ *Stats, n *bus.NodeStatus) float64 { return float64(n.Capacity) })
	c.gauge("capacity_target", "What the capacity is on its way to, or equal to it.",
		func(_ *Stats, n *bus.NodeStatus) float64 { return float64(n.CapacityTarget) })
	c.gauge("cpu_ratio", "CPU time used, of what the node may use, as of the last heartbeat.", func(_ *Stats, n *bus.NodeStatus) float64 { return n.CPU })
	c.gauge("memory_ratio", "Memory used, of what the node may use, as of the last heartbeat.", func(_ *Stats, n *bus.NodeStatus) float64 { return n.Memory })
	c.gauge("in_flight_limit", "Messages in flight of each dispatcher at which the node is at its limit, as configured; 0: the dispatcher's own.",
		func(_ *Stats, n *bus.NodeStatus) float64 { return float64(n.InFlightLimit) })
	c.gauge("in_flight", "Messages received and not answered.", func(_ *Stats, n *bus.NodeStatus) float64 { return float64(n.InFlight) })
	c.gauge("response_seconds", "Moving average from receipt to answer.",
		func(_ *Stats, n *bus.NodeStatus) float64 { return float64(n.ResponseMicros) / 1e6 })
	c.gauge("drained", "1 while an operator has the node drained.", func(_ *Stats, n *bus.NodeStatus) float64 { return flag(n.Drained) })
	c.gauge("store_up", "1 while the state store answers.", func(*Stats, *bus.NodeStatus) float64 { return flag(!c.p.away.Load()) })
	c.gauge("clock_offset_seconds", "The state store's clock minus the node's.",
		func(_ *Stats, n *bus.NodeStatus) float64 { return float64(n.ClockOffsetMicros) / 1e6 })
}

func (c *collector) traffic() {
	c.counter("frames_total", "Frames of messages received.", func(s *Stats) uint64 { return s.Frames })
	c.counter("bad_frames_total", "Frames that could not be read.", func(s *Stats) uint64 { return s.BadFrames })
	c.counter("payload_bytes_total", "Payload of messages received, repetitions included.", func(s *Stats) uint64 { return s.Bytes })
	c.counter("envelopes_total", "Messages received, repetitions included.", func(s *Stats) uint64 { return s.Envelopes })
	c.counter("handler_faults_total", "Errors and panics of handlers.", func(s *Stats) uint64 { return s.HandlerFaults })
	c.counter("answer_failures_total", "Answers that could not be sent; dispatchers ask again.", func(s *Stats) uint64 { return s.AnswerFailures })
	c.counter("dropped_total", "Messages that came when the node had stopped.", func(s *Stats) uint64 { return s.DroppedStopped })
}

func (c *collector) store() {
	c.counter("commits_total", "Records written.", func(s *Stats) uint64 { return s.Commits })
	c.counter("loads_total", "Records read.", func(s *Stats) uint64 { return s.Loads })
	c.counter("conflicts_total", "Commits that found another record than expected.", func(s *Stats) uint64 { return s.Conflicts })
	c.counter("contended_total", "Messages given up because others kept writing their session.", func(s *Stats) uint64 { return s.Contended })
	c.counter("store_failures_total", "Commits and loads without an outcome.", func(s *Stats) uint64 { return s.StoreFailures })
	c.counter("rollbacks_total", "Sessions found older than they were: the store lost writes.", func(s *Stats) uint64 { return s.Rollbacks })
	c.counter("unreadable_records_total", "Records that this program can not read.", func(s *Stats) uint64 { return s.Unreadable })
}

func (c *collector) sessions() {
	c.gauge("leased_partitions", "Partitions whose timers and outboxes the node looks after.", func(s *Stats, _ *bus.NodeStatus) float64 { return float64(s.Partitions) })
	c.counter("notifications_total", "Notifications offered to other sessions, repetitions included.", func(s *Stats) uint64 { return s.Notifications })
	c.counter("deliveries_total", "Messages for stations sent to dispatchers, repetitions included.", func(s *Stats) uint64 { return s.Deliveries })
	c.counter("timers_total", "Timers of sessions found due.", func(s *Stats) uint64 { return s.Timers })
	c.counter("swept_outboxes_total", "Outboxes that nobody emptied in time and that were looked after.", func(s *Stats) uint64 { return s.Swept })
	c.counter("set_aside_total", "Notifications and timers on which handlers failed for good.", func(s *Stats) uint64 { return s.SetAside })
	c.counter("leg_drops_total", "Messages for stations dropped, since too many waited for an association.", func(s *Stats) uint64 { return s.LegDropped })
	c.counter("event_drops_total", "Notifications and acknowledgements that found a full queue; they are found again.", func(s *Stats) uint64 { return s.EventsDropped })
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, n := range c.numbers {
		descs <- n.desc
	}
	descs <- c.answers
	descs <- c.state
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	stats, status := c.p.Stats(), c.p.Status()
	for _, n := range c.numbers {
		metrics <- prometheus.MustNewConstMetric(n.desc, n.kind, n.value(&stats, &status))
	}
	for s := bus.Committed; int(s) < len(c.p.status); s++ {
		metrics <- prometheus.MustNewConstMetric(c.answers, prometheus.CounterValue, float64(c.p.status[s].Load()), s.String())
	}
	for _, s := range states() {
		metrics <- prometheus.MustNewConstMetric(c.state, prometheus.GaugeValue, flag(s.String() == status.State), s.String())
	}
}
