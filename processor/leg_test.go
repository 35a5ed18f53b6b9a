package processor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"skyring/processor"
	"skyring/protocol/bus"
)

// stationSide is what a dispatcher gets for stations, and what it says to that.
type stationSide struct {
	got    chan bus.Delivery
	frames chan bus.Message
}

// stations lets a dispatcher take deliver frames; each is answered by the test.
func (s *site) stations(id string) *stationSide {
	s.tb.Helper()
	side := &stationSide{got: make(chan bus.Delivery, 1024), frames: make(chan bus.Message, 1024)}
	conn := s.connect(id + "-stations")
	must[*bus.Subscription](s.tb)(conn.Subscribe(bus.Namespace("default").Dispatcher(id), func(m bus.Message) {
		if bus.IsDeliver(m.Data) {
			side.frames <- m
		}
	}))
	return side
}

// answer waits for a frame and answers each delivery of it; it gives their payloads.
func (side *stationSide) answer(d *dispatcher, status bus.DeliveredStatus) []string {
	d.tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case m := <-side.frames:
		r := must[bus.DeliverReader](d.tb)(bus.DecodeDeliver(m.Data))
		var w bus.DeliveredWriter
		w.Reset(nil, d.incarnation, r.Node())
		var one bus.Delivery
		var payloads []string
		for r.Next(&one) {
			payloads = append(payloads, string(one.Payload))
			if err := w.Append(bus.Delivered{Number: one.Number, Status: status}); err != nil {
				d.tb.Fatal(err)
			}
			if one.Epoch == 0 || one.Stream != 3 || one.PPID != 5 || one.Abort {
				d.tb.Errorf("%+v", one)
			}
		}
		if err := d.conn.Publish(m.Reply, "", w.Bytes()); err != nil {
			d.tb.Fatal(err)
		}
		return payloads
	case <-deadline.C:
		d.tb.Fatal("nothing comes for a station")
		return nil
	}
}

func TestLegs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	side := s.stations("d")
	committed(t, d.ask(n.id, to("a", 1, "attach|leg 1|leg 2")))
	got := side.answer(d, bus.Taken)
	for len(got) < 2 {
		got = append(got, side.answer(d, bus.Taken)...)
	}
	if !slices.Equal(got, []string{"1", "2"}) {
		t.Fatalf("the station got %q", got)
	}
	s.settled("a")
	committed(t, d.ask(n.id, to("a", 2, "leg 3")))
	side.answer(d, bus.NoAssociation)
	wait(t, func() bool { r := s.toyRecord("a"); return r.Leg.Gone && len(r.Outbox) == 1 })
	if keys := must[[][]byte](t)(s.store().Pending(t.Context(), partitions(s), 1<<60, 9)); len(keys) != 0 {
		t.Error("what waits for a leg is looked after in vain")
	}
	again := with(to("a", 1, "attach|leg 4"), func(e *bus.Envelope) { e.Epoch = 8 })
	committed(t, d.ask(n.id, again))
	if got := side.answer(d, bus.Taken); !slices.Equal(got, []string{"3", "4"}) {
		t.Errorf("the new leg got %q", got)
	}
	s.settled("a")
	committed(t, d.ask(n.id, with(to("a", 2, "detach|leg 5"), func(e *bus.Envelope) { e.Epoch = 8 })))
	if r := s.toyRecord("a"); r.Leg != nil || len(r.Outbox) != 1 {
		t.Errorf("%+v", r)
	}
}

// A message goes again until SCTP took it, in order, and not by another processor's answer for an old leg.
func TestMessagesForTheLegGoUntilTaken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	h, deaf := hold(processor.Event.Acknowledged)
	n, d := s.quick("p", deaf), s.dispatcher("d", 1)
	side := s.stations("d")
	committed(t, d.ask(n.id, to("a", 1, "attach|leg 1")))
	side.answer(d, bus.Taken)
	late := h.next(t)
	if got := side.answer(d, bus.Taken); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the second time it is %q", got)
	}
	committed(t, d.ask(n.id, with(to("a", 1, "attach"), func(e *bus.Envelope) { e.Epoch = 8 })))
	n.Tell(late)
	wait(t, n.Idle)
	if r := s.toyRecord("a"); len(r.Outbox) != 1 || r.Leg.Epoch != 8 {
		t.Errorf("%+v", r)
	}
}

// A station without association is not a leak.
func TestLegBoxIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	for i := range uint64(3) {
		committed(t, d.ask(n.id, to("a", i+1, strings.Repeat("leg x|", 100))))
	}
	if r := s.toyRecord("a"); len(r.Outbox) != 256 || r.Outbox[0].Number != 45 {
		t.Errorf("%d entries, the first is %d", len(r.Outbox), r.Outbox[0].Number)
	}
	wait(t, func() bool { return n.Stats().LegDropped == 44 })
}

func TestPartitionsAreShared(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	store := s.store()
	all := partitions(s)
	must[[]int](t)(store.Lease(t.Context(), all, "died", 500*time.Millisecond))
	a := s.quick("a")
	if a.Stats().Partitions == uint64(len(all)) {
		t.Error("leases of another one are not respected")
	}
	wait(t, func() bool { return a.Stats().Partitions == uint64(len(all)) })
	b := s.quick("b")
	wait(t, func() bool {
		x, y := a.Stats().Partitions, b.Stats().Partitions
		return x+y == uint64(len(all)) && x > 64 && y > 64
	})
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return a.Stats().Partitions == uint64(len(all)) })
}

// What belongs to a processor that is there and leases nothing is looked after by another one; it gets it when it asks later.
func TestPartitionsThatTheirOwnerLeavesAreAdopted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	defer beating.Wait()
	defer cancel()
	conn := s.connect("idle")
	beat := func(h bus.Heartbeat) {
		if err := conn.Publish(bus.Namespace("default").Heartbeats(), "", h.Append(nil)); err != nil {
			t.Error(err)
		}
	}
	beating.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := uint64(1); ; n++ {
			beat(bus.Heartbeat{ID: "idle", Incarnation: 1, Sequence: n, State: bus.Ready, Capacity: 1})
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	n, d := s.quick("p"), s.dispatcher("d", 1)
	names := make([]string, 0, 40)
	for i := range uint64(40) {
		names = append(names, fmt.Sprintf("a%d", i))
		committed(t, d.ask(n.id, to(names[i], i+1, "arm 1 1")))
	}
	s.settled(names...)
	wait(t, func() bool { return n.Stats().Partitions == uint64(len(partitions(s))) })
}

// A dispatcher that does not answer takes no other one's place.
func TestDeliveriesAreCountedForEachDispatcher(t *testing.T) {
	t.Parallel()
	d := processor.NewDeliveries()
	var last uint64
	for range processor.MaxDeliveries {
		last, _ = d.Register("asleep")
	}
	if _, ok := d.Register("asleep"); ok {
		t.Error("no limit")
	}
	if _, ok := d.Register("awake"); !ok {
		t.Error("one dispatcher is at another one's cost")
	}
	if !d.Take(last) || d.Take(last) {
		t.Error("a wait ends once")
	}
	if _, ok := d.Register("asleep"); !ok {
		t.Error("no room after an answer")
	}
	if n := d.TakeAll("asleep"); n != processor.MaxDeliveries {
		t.Errorf("%d waited", n)
	}
	if _, ok := d.Register("asleep"); !ok {
		t.Error("no room after all")
	}
}
