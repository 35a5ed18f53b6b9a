package stations

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// agenda does acts at their times, all in one goroutine: one timer serves all calls of all
// stations.
type agenda struct {
	wake chan struct{} // holds one: an earlier act has come

	mu    sync.Mutex
	queue dueQueue // guarded by mu
}

// due is an act with its time.
type due struct {
	at  time.Time
	act func()
}

func newAgenda() *agenda { return &agenda{wake: make(chan struct{}, 1)} }

// add has an act done at a time. Acts must not block.
func (a *agenda) add(at time.Time, act func()) {
	a.mu.Lock()
	heap.Push(&a.queue, due{at: at, act: act})
	first := a.queue[0].at.Equal(at)
	a.mu.Unlock()

	if !first {
		return
	}

	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run does what is due until ctx ends.
func (a *agenda) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()

	for {
		wait := time.Hour

		for {
			next, ok := a.take(time.Now(), &wait)
			if !ok {
				break
			}

			next()
		}

		timer.Reset(wait)

		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-a.wake:
		}
	}
}

// take takes the next act that is due, or tells how long to wait for it.
func (a *agenda) take(now time.Time, wait *time.Duration) (act func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()

	if len(a.queue) == 0 {
		return nil, false
	}

	if left := a.queue[0].at.Sub(now); left > 0 {
		*wait = left

		return nil, false
	}

	next, _ := heap.Pop(&a.queue).(due)

	return next.act, true
}

// dueQueue is a heap by time.
type dueQueue []due

// Len is the number of acts.
func (q dueQueue) Len() int { return len(q) }

// Less orders by time.
func (q dueQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

// Swap swaps two.
func (q dueQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push appends a due.
func (q *dueQueue) Push(x any) {
	if d, ok := x.(due); ok {
		*q = append(*q, d)
	}
}

// Pop takes the last.
func (q *dueQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = due{}
	*q = old[:len(old)-1]

	return last
}
