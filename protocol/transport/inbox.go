package transport

import "sync"

// packetBuffer holds a packet between the link and pion. It returns to the endpoint's pool when pion has read it.
type packetBuffer struct {
	next   *packetBuffer
	b      []byte
	passed chan struct{} // not nil: no packet, but a mark, closed when pion has dealt with what came before
}

// inbox is the queue of packets of one association: filled by the goroutine that reads the link, emptied by pion's. When
// it is full, packets are dropped, and SCTP repeats them.
type inbox struct {
	// static
	limit, maxBytes int
	wake            chan struct{} // holds one

	mu      sync.Mutex
	head    *packetBuffer
	tail    *packetBuffer
	length  int
	bytes   int
	waiting bool // the last take found nothing: the next put has to poke
}

// put queues a packet; false when the inbox is full. Marks always have room.
func (q *inbox) put(p *packetBuffer) bool {
	q.mu.Lock()
	if (q.length >= q.limit || q.bytes+len(p.b) > q.maxBytes) && p.passed == nil {
		q.mu.Unlock()
		return false
	}
	p.next = nil
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
	q.length++
	q.bytes += len(p.b)
	waiting := q.waiting
	q.waiting = false
	q.mu.Unlock()
	if waiting {
		q.poke()
	}
	return true
}

// take removes the oldest packet; nil when there is none, and wake tells then when to look again.
func (q *inbox) take() *packetBuffer {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.head
	if p == nil {
		q.waiting = true
		return nil
	}
	if q.head = p.next; q.head == nil {
		q.tail = nil
	}
	q.length--
	q.bytes -= len(p.b)
	return p
}

func (q *inbox) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
