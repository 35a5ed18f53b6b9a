package simulate

// kind is what happens at an event.
type kind uint8

const (
	arrives kind = iota // a message of the Poisson process
	bursts              // perhaps a message of the burst
	thinks              // user subject has thought
	picks               // a dispatcher has the time for message subject
	reaches             // message subject comes to its node
	done                // node subject has done a message
	answers             // the answer to message subject is there
	overdue             // the oldest deadline of attempt subject
	reports             // node subject makes its heartbeat
	hears               // dispatchers get report subject
	ticks               // a second has gone by
	changes             // Config.Events[subject]
	detects             // dispatchers find that node subject is gone
)

// event is one of the future.
type event struct {
	at      int64  // ns
	number  uint64 // of its making: those of one time are in the order they were made
	subject int32
	message int32
	serial  uint32 // of the message: an event of an older one means an attempt that was given up
	life    uint16 // of the node: an event of an older one died with it
	kind    kind
	lane    uint8 // of the node, where done
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.number < f.number }

// future is a heap of events with four children to a parent: half as deep as a binary one, and children share cache lines.
type future struct {
	heap []event
	made uint64
}

func (f *future) push(e event) {
	e.number = f.made
	f.made++
	f.heap = append(f.heap, e)

	h, i := f.heap, len(f.heap)-1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h[parent]) {
			break
		}

		h[i] = h[parent]
		i = parent
	}

	h[i] = e
}

// pop takes the earliest; there has to be one.
func (f *future) pop() event {
	h := f.heap
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	f.heap = h

	if len(h) == 0 {
		return first
	}

	i := 0
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}

		for c := child + 1; c < min(4*i+5, len(h)); c++ {
			if h[c].before(&h[child]) {
				child = c
			}
		}

		if !h[child].before(&last) {
			break
		}

		h[i] = h[child]
		i = child
	}

	h[i] = last

	return first
}
