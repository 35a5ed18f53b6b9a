package dispatcher

import (
	"context"

	"skyring/protocol/bus"
	"skyring/protocol/transport"
)

// causeOutdated is what the peer reads in the ABORT of an association that a newer one
// of its station has taken the place of.
const causeOutdated = "a newer association of the station has taken its place"

// delivery names a message that a processor wants to be sent: to whom its outcome goes.
type delivery struct {
	subject string // of the processor; empty: nobody wants to know
	node    uint64 // its incarnation
	number  uint64 // its own
}

// outcome is what became of a delivery.
type outcome struct {
	delivery

	status bus.DeliveredStatus
}

// courier brings outcomes of deliveries to the processors, as many in a frame as have
// queued while the last one was on its way.
type courier struct {
	outcomes chan outcome // full: settle drops, and the processor delivers again in a while
	count    *counters    // static
}

// courierQueue is how many outcomes may wait.
const courierQueue = 1 << 14

// settle says what became of a delivery. It never blocks. What is not told the processor
// finds out by delivering again: a station knows what it has had.
func (c *courier) settle(of delivery, status bus.DeliveredStatus) {
	if of.subject == "" {
		return
	}

	c.count.delivered[status].Add(1)

	select {
	case c.outcomes <- outcome{of, status}:
	default:
		c.count.drop(DropDelivered, 1)
	}
}

// onDeliver takes a frame of messages for stations.
func (d *Dispatcher) onDeliver(m bus.Message) {
	frame, err := bus.DecodeDeliver(m.Data)
	if err != nil {
		d.count.drop(DropDeliverFrame, 1)
		d.log.Warn().Err(err).Msg("deliver frame refused")

		return
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	var one bus.Delivery
	for frame.Next(&one) {
		d.deliver(delivery{subject: m.Reply, node: frame.Node(), number: one.Number}, &one, frame.Dispatcher())
	}
}

// deliver queues one delivery on its association. The caller holds mu.
func (d *Dispatcher) deliver(of delivery, one *bus.Delivery, incarnation uint64) {
	a := d.associations[one.Epoch]
	if a == nil || incarnation != d.incarnation {
		d.courier.settle(of, bus.NoAssociation)

		return
	}

	o := outgoing{
		Message:  transport.Message{Stream: one.Stream, PPID: d.wirePPID(one.PPID), Payload: one.Payload},
		delivery: of,
	}
	if one.Abort {
		o.abort = causeOutdated
	}

	a.queue(o)
}

// carryOutcomes publishes outcomes until ctx ends, and then those that wait.
func (d *Dispatcher) carryOutcomes(ctx context.Context) {
	for {
		select {
		case o := <-d.courier.outcomes:
			d.publishOutcomes(o)

			continue
		case <-ctx.Done():
		}

		if len(d.courier.outcomes) == 0 {
			return
		}

		d.publishOutcomes(<-d.courier.outcomes)
	}
}

// publishOutcomes publishes an outcome and all that wait behind it, a frame for each node.
func (d *Dispatcher) publishOutcomes(o outcome) {
	frames := map[delivery]*bus.DeliveredWriter{}

	for waiting := len(d.courier.outcomes); ; waiting-- {
		to := delivery{subject: o.subject, node: o.node}

		w := frames[to]
		if w == nil {
			w = &bus.DeliveredWriter{}
			w.Reset(nil, d.incarnation, o.node)
			frames[to] = w
		}

		if err := w.Append(bus.Delivered{Number: o.number, Status: o.status}); err != nil {
			panic("dispatcher: " + err.Error()) // courierQueue is less than a frame holds
		}

		if waiting == 0 {
			break
		}

		o = <-d.courier.outcomes
	}

	for to, w := range frames {
		if err := d.conn.Publish(to.subject, "", w.Bytes()); err != nil {
			d.count.drop(DropDelivered, w.Count())
			d.log.Debug().Err(err).Int("deliveries", w.Count()).Msg("outcomes of deliveries not published")
		}
	}
}
