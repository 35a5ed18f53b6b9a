package dispatcher

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/protocol/transport"
	"skyring/ring"
)

// Register adds the dispatcher's metrics and its endpoint's to a registry, each with the
// label dispatcher. They are read from Stats when they are asked for; messages pay
// nothing. docs/operations.md lists them.
func (d *Dispatcher) Register(r prometheus.Registerer) error {
	if err := errors.Join(r.Register(newCollector(d)), r.Register(newTransportCollector(d))); err != nil {
		return fmt.Errorf("register the metrics of dispatcher %s: %w", d.cfg.ID, err)
	}

	return nil
}

// collector makes metrics of Stats.
type collector struct {
	dispatcher *Dispatcher
	numbers    []number
	families   []family
	nodes      []nodeNumber
	state      *prometheus.Desc
	ring       *prometheus.Desc
}

// number is a metric without labels of its own.
type number struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Stats) float64
}

// family are counters by one label, whose values are known.
type family struct {
	desc   *prometheus.Desc
	values []string
	counts func(*Stats) map[string]uint64
}

// nodeNumber is a metric of each node.
type nodeNumber struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*routing.NodeStats) float64
}

func newCollector(d *Dispatcher) *collector {
	c := &collector{dispatcher: d}
	c.state = c.desc("node_state", "1 for what the node is to the dispatcher.", "node", "state")
	c.ring = c.desc("ring_info", "1, with the checksum of the ring: equal on all dispatchers.", "checksum")
	c.load()
	c.traffic()
	c.faults()
	c.byName()
	c.byNode()

	return c
}

func (c *collector) desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("skyring_dispatcher_"+name, help, labels, prometheus.Labels{"dispatcher": c.dispatcher.cfg.ID})
}

func (c *collector) gauge(name, help string, value func(*Stats) float64) {
	c.numbers = append(c.numbers, number{c.desc(name, help), prometheus.GaugeValue, value})
}

func (c *collector) counter(name, help string, value func(*Stats) uint64) {
	c.numbers = append(c.numbers, number{
		c.desc(name, help), prometheus.CounterValue, func(s *Stats) float64 { return float64(value(s)) },
	})
}

func (c *collector) load() {
	c.gauge("uptime_seconds", "Time since the start.", func(*Stats) float64 { return c.dispatcher.now().Seconds() })
	c.gauge("nats_connected", "1 while NATS answers.", func(s *Stats) float64 { return flag(s.Connected) })
	c.gauge("associations", "Associations served.", func(s *Stats) float64 { return float64(s.Associations) })
	c.gauge("unanswered_messages", "Messages taken and not done.", func(s *Stats) float64 { return float64(s.Unanswered) })
	c.gauge("active_sessions", "Session keys with such messages.", func(s *Stats) float64 { return float64(s.Sessions) })
	c.gauge("parked_sessions", "Session keys that no node has room for.", func(s *Stats) float64 { return float64(s.Parked) })
}

func (c *collector) traffic() {
	c.counter("envelopes_total", "Messages sent to nodes, resends included.", func(s *Stats) uint64 { return s.Written })
	c.counter("probes_total", "Messages sent again only to see whether a node is there.", func(s *Stats) uint64 { return s.Probes })
	c.counter("frames_total", "NATS messages that carried them.", func(s *Stats) uint64 { return s.Frames })
	c.counter("replies_total", "Replies sent to stations.", func(s *Stats) uint64 { return s.Replies })
	c.counter("receipts_total", "Receipts sent to stations.", func(s *Stats) uint64 { return s.Receipts })
	c.counter("given_up_total", "Messages not answered in time, which their senders repeat.", func(s *Stats) uint64 { return s.GivenUp })
}

func (c *collector) faults() {
	c.counter("outdated_associations_total", "Associations aborted because a newer one has their place.", func(s *Stats) uint64 { return s.Outdated })
	c.counter("no_responders_total", "Reports of NATS that nobody listens on a node's subject.", func(s *Stats) uint64 { return s.NoResponders })
	c.counter("resends_put_off_total", "Resends put off for want of retry budget.", func(s *Stats) uint64 { return s.NoBudget })
	c.counter("query_failures_total", "Queries to nodes without an answer.", func(s *Stats) uint64 { return s.AskErrors })
	c.counter("rollbacks_total", "Times that the state store was found to have lost writes.", func(s *Stats) uint64 { return s.Rollbacks })
	c.counter("twins_total", "Other live dispatchers seen under this one's id.", func(s *Stats) uint64 { return s.Twins })
	c.counter("nats_disconnects_total", "Times that NATS went away.", func(*Stats) uint64 { return c.dispatcher.conn.Stats().Disconnects })
	c.counter("nats_slow_consumer_total", "Times that NATS dropped messages because the dispatcher was too slow for them.",
		func(*Stats) uint64 { return c.dispatcher.conn.Stats().SlowConsumer })
}

func (c *collector) byName() {
	var counts routing.Counts

	drops := append(names[routing.Drop](0, len(counts.Dropped)), names[Drop](0, drops)...)

	for _, f := range []struct {
		name, help, label string
		values            []string
		counts            func(*Stats) map[string]uint64
	}{
		{"messages_total", "Messages taken, by payload protocol.", "protocol", names[payloadProtocol](0, payloadProtocols), func(s *Stats) map[string]uint64 { return s.Protocols }},
		{"answers_total", "Answers of nodes used, by status.", "status", names[bus.Status](1, len(counts.Answers)), func(s *Stats) map[string]uint64 { return s.Answers }},
		{"resends_total", "Messages sent again, by cause.", "cause", names[routing.Cause](0, len(counts.Resent)), func(s *Stats) map[string]uint64 { return s.Resent }},
		{"picks_total", "Nodes picked for session keys, by the step that found them.", "how", append(names[ring.How](0, len(counts.Picks)), routing.Bound), func(s *Stats) map[string]uint64 { return s.Picks }},
		{"node_state_changes_total", "Changes of nodes between open, at their limit and not to be picked, by reason.", "reason", names[routing.Reason](0, len(counts.Changes)), func(s *Stats) map[string]uint64 { return s.Changes }},
		{"deliveries_total", "Messages that processors wanted to be sent, by outcome.", "outcome", names[bus.DeliveredStatus](1, int(bus.NoAssociation)+1), func(s *Stats) map[string]uint64 { return s.Deliveries }},
		{"drops_total", "What went no further, by reason.", "reason", drops, func(s *Stats) map[string]uint64 { return s.Dropped }},
		{"key_faults_total", "Messages without a readable session key, by fault.", "fault", names[key.Fault](1, key.Faults), func(s *Stats) map[string]uint64 { return s.Faults }},
	} {
		c.families = append(c.families, family{c.desc(f.name, f.help, f.label), f.values, f.counts})
	}
}

// names are those of a type's values from one on.
func names[T interface {
	~uint8
	String() string
}](from, end int,
) []string {
	var all []string
	for i := from; i < end; i++ {
		all = append(all, T(i).String()) //nolint:gosec // the type has room for its own values
	}

	return all
}

func (c *collector) byNode() {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue

	for _, n := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      func(*routing.NodeStats) float64
	}{
		{"node_share", "Share of the ring's slots, 0 to 1.", gauge, func(n *routing.NodeStats) float64 { return n.Share }},
		{"node_capacity", "Messages a second, as the node says.", gauge, func(n *routing.NodeStats) float64 { return float64(n.Capacity) }},
		{"node_weight", "1 minus the most used part of what the node may use: 1 idle, 0 at a limit, below beyond it.", gauge, func(n *routing.NodeStats) float64 { return n.Weight }},
		{"node_keys", "Session keys used of late that have the node as theirs, as far as they are counted.", gauge, func(n *routing.NodeStats) float64 { return float64(n.Keys) }},
		{"node_in_flight", "Messages sent to the node and not answered.", gauge, func(n *routing.NodeStats) float64 { return float64(n.InFlight) }},
		{"node_in_flight_limit", "Messages in flight from which the node is at its limit.", gauge, func(n *routing.NodeStats) float64 { return float64(n.Limit) }},
		{"node_sessions", "Session keys with messages in flight to the node.", gauge, func(n *routing.NodeStats) float64 { return float64(n.Sessions) }},
		{"node_answered_total", "Messages that the node was the first to answer.", counter, func(n *routing.NodeStats) float64 { return float64(n.Answered) }},
	} {
		c.nodes = append(c.nodes, nodeNumber{c.desc(n.name, n.help, "node"), n.kind, n.value})
	}
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

	for _, f := range c.families {
		descs <- f.desc
	}

	for _, n := range c.nodes {
		descs <- n.desc
	}

	descs <- c.state
	descs <- c.ring
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	s := c.dispatcher.Stats()

	for _, n := range c.numbers {
		metrics <- prometheus.MustNewConstMetric(n.desc, n.kind, n.value(&s))
	}

	for _, f := range c.families {
		counts := f.counts(&s)
		for _, value := range f.values {
			metrics <- prometheus.MustNewConstMetric(f.desc, prometheus.CounterValue, float64(counts[value]), value)
		}
	}

	for i := range s.Nodes {
		c.collectNode(metrics, &s.Nodes[i])
	}

	metrics <- prometheus.MustNewConstMetric(c.ring, prometheus.GaugeValue, 1, bus.Hex(s.Checksum).String())
}

func (c *collector) collectNode(metrics chan<- prometheus.Metric, n *routing.NodeStats) {
	for _, m := range c.nodes {
		metrics <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(n), n.ID)
	}

	for s := routing.Open; s <= routing.Left; s++ {
		metrics <- prometheus.MustNewConstMetric(c.state, prometheus.GaugeValue, flag(s == n.Status), n.ID, s.String())
	}
}

// transportCollector makes metrics of the endpoint's counters.
type transportCollector struct {
	dispatcher                                 *Dispatcher
	associations, packets, bytes, events, ends *prometheus.Desc
}

func newTransportCollector(d *Dispatcher) *transportCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("skyring_transport_"+name, help, labels, prometheus.Labels{"dispatcher": d.cfg.ID})
	}

	return &transportCollector{
		dispatcher:   d,
		associations: desc("associations", "SCTP associations that exist, those waiting for their epoch included."),
		packets:      desc("packets_total", "SCTP packets.", "direction"),
		bytes:        desc("bytes_total", "Bytes of SCTP packets.", "direction"),
		events:       desc("events_total", "What befell packets and associations: drops, refusals, changes.", "event"),
		ends:         desc("ends_total", "SCTP associations that have ended, by reason.", "reason"),
	}
}

// Describe implements prometheus.Collector.
func (c *transportCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.associations, c.packets, c.bytes, c.events, c.ends} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *transportCollector) Collect(metrics chan<- prometheus.Metric) {
	s := c.dispatcher.endpoint.Stats()
	metrics <- prometheus.MustNewConstMetric(c.associations, prometheus.GaugeValue, float64(s.Associations))

	for reason, n := range s.Ends() {
		metrics <- prometheus.MustNewConstMetric(c.ends, prometheus.CounterValue, float64(n), reason.String())
	}

	for counter, n := range s.All() {
		desc, label := c.events, counter.String()

		switch counter { //nolint:exhaustive // all others are events
		case transport.PacketsReceived:
			desc, label = c.packets, "received"
		case transport.PacketsSent:
			desc, label = c.packets, "sent"
		case transport.BytesReceived:
			desc, label = c.bytes, "received"
		case transport.BytesSent:
			desc, label = c.bytes, "sent"
		default:
		}

		metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), label)
	}
}
