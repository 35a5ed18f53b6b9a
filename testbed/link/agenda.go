package link

import (
	"container/heap"
	"time"
)

// delivery is a packet under way.
type delivery struct {
	at     time.Duration
	number uint64 // keeps those that are due at the same time in order
	way    Way
	client *client
	b      []byte
}

// overhead is what a packet under way counts for besides its bytes.
const overhead = 128

// agenda holds what is under way, and what is due first.
type agenda struct {
	queue    deliveries
	number   uint64
	buffered int // bytes
	limit    int
}

// add takes a packet, false when there is no room.
func (a *agenda) add(d delivery) bool {
	if a.buffered+len(d.b)+overhead > a.limit {
		return false
	}
	a.buffered += len(d.b) + overhead
	d.number = a.number
	a.number++
	heap.Push(&a.queue, d)
	return true
}

// due takes what has to be delivered by now.
func (a *agenda) due(now time.Duration) (d delivery, ok bool) {
	if len(a.queue) == 0 || a.queue[0].at > now {
		return delivery{}, false
	}
	d, _ = heap.Pop(&a.queue).(delivery)
	a.buffered -= len(d.b) + overhead
	return d, true
}

// next is when something is due; false for never.
func (a *agenda) next() (at time.Duration, ok bool) {
	if len(a.queue) == 0 {
		return 0, false
	}
	return a.queue[0].at, true
}

// deliveries implements heap.Interface.
type deliveries []delivery

func (d deliveries) Len() int { return len(d) }

func (d deliveries) Less(i, j int) bool {
	if d[i].at != d[j].at {
		return d[i].at < d[j].at
	}
	return d[i].number < d[j].number
}

func (d deliveries) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

func (d *deliveries) Push(x any) {
	one, _ := x.(delivery)
	*d = append(*d, one)
}

func (d *deliveries) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	(*d)[last] = delivery{}
	*d = (*d)[:last]
	return one
}
