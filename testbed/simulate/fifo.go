package simulate

// fifo is a queue in a circle that grows by doubling. The zero value is empty.
type fifo[T any] struct {
	ring []T // its length is 0 or a power of two
	head int
	size int
}

func (q *fifo[T]) push(v T) {
	q.grow()
	q.ring[(q.head+q.size)&(len(q.ring)-1)] = v
	q.size++
}

// pushFront makes v the oldest.
func (q *fifo[T]) pushFront(v T) {
	q.grow()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.ring[q.head] = v
	q.size++
}

// grow makes room for one more.
func (q *fifo[T]) grow() {
	if q.size < len(q.ring) {
		return
	}

	grown := make([]T, max(8, 2*len(q.ring)))
	for i := range q.size {
		grown[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}

	q.ring, q.head = grown, 0
}

// front is the oldest; there has to be one.
func (q *fifo[T]) front() *T { return &q.ring[q.head] }

func (q *fifo[T]) pop() T { //nolint:ireturn // T is no interface where it is used
	v := q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.size--

	return v
}

func (q *fifo[T]) clear() { q.head, q.size = 0, 0 }
