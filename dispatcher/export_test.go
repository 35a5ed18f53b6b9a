package dispatcher

import (
	"context"
	"sync"

	"skyring/protocol/transport"
)

// Feed is an association without SCTP under it, for benchmarks of what lies behind.
type Feed struct{ a *association }

// NewFeed registers a feed of which so many messages may be unanswered.
func (d *Dispatcher) NewFeed(epoch uint64, inFlight int) *Feed {
	a := &association{
		dispatcher: d,
		epoch:      epoch,
		credit:     newCredit(inFlight, d.cfg.AssociationBytes),
		outgoing:   newQueue(1 << 13), // never full: no more is unanswered
		giveUp:     func(error) {},
		ordinals:   make(map[lane]uint64),
	}
	d.register(a)

	return &Feed{a}
}

// Deliver takes a message as an association does.
func (f *Feed) Deliver(m transport.Message) { f.a.deliver(m) }

// Reply waits for the next message to be sent to the station.
func (f *Feed) Reply() transport.Message {
	o, _ := f.a.outgoing.take()
	f.a.credit.release(o.size)

	return o.Message
}

// Serve runs the dispatcher without accepting associations, until the function that
// it returns is called.
func (d *Dispatcher) Serve() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())

	subscriptions, err := d.subscribe()
	if err != nil {
		panic(err)
	}

	var background sync.WaitGroup

	background.Go(func() { d.keepMembers(ctx) })

	return func() {
		cancel()
		background.Wait()

		for _, s := range subscriptions {
			_ = s.Unsubscribe()
		}
	}
}

// Left is how many more messages may come before one is not taken.
func (f *Feed) Left() int {
	f.a.credit.mu.Lock()
	defer f.a.credit.mu.Unlock()

	return f.a.credit.messages
}

// Queue is a queue of numbers.
type Queue struct{ q *queue }

// NewQueue makes an empty queue.
func NewQueue(limit int) Queue { return Queue{newQueue(limit)} }

// Put tells whether the queue took a number.
func (q Queue) Put(n uint64) bool {
	return q.q.put(outgoing{delivery: delivery{number: n}}) == putQueued
}

// Take returns the next number, false at the end.
func (q Queue) Take() (uint64, bool) {
	o, more := q.q.take()

	return o.delivery.number, more
}

// Close ends the queue.
func (q Queue) Close() { q.q.close() }
