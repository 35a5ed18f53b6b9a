package dispatcher

import "sync"

// queueKept is how many places an empty queue keeps.
const queueKept = 32

// queue holds what is to be sent to one station. It grows up to its limit and shrinks
// when it is empty: most stations have little to be sent, and some much.
type queue struct {
	limit int // static

	mu     sync.Mutex
	more   sync.Cond  // of mu
	items  []outgoing // from first on; guarded by mu
	first  int        // guarded by mu
	closed bool       // guarded by mu
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit}
	q.more.L = &q.mu

	return q
}

// putResult says what became of an attempt to put something into a queue.
type putResult uint8

const (
	putQueued putResult = iota
	putFull
	putClosed
)

// put appends one to the queue. It never blocks.
func (q *queue) put(o outgoing) putResult {
	q.mu.Lock()
	defer q.mu.Unlock()

	switch {
	case q.closed:
		return putClosed
	case len(q.items)-q.first >= q.limit:
		return putFull
	}

	if q.first > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}

	q.items = append(q.items, o)
	q.more.Signal()

	return putQueued
}

// close ends the queue after what it holds.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.closed = true
	q.more.Broadcast()
}

// take waits for the next one, and is false at the end of the queue.
func (q *queue) take() (outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for q.first == len(q.items) {
		if q.closed {
			return outgoing{}, false
		}

		q.more.Wait()
	}

	o := q.items[q.first]
	q.items[q.first] = outgoing{} // its payload is not ours any more
	q.first++

	if q.first == len(q.items) {
		q.items, q.first = q.items[:0], 0

		if cap(q.items) > queueKept {
			q.items = nil
		}
	}

	return o, true
}
