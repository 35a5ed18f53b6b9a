package client

import "skyring/protocol"

const (
	answersKept = 32  // the least that section 6.4 asks for
	marksKept   = 256 // call references; the gateway uses a reference again after far more calls
)

// memory keeps what was answered to the gateway's last requests, so that one that comes
// again is answered alike and has no effect (section 6.4).
type memory struct {
	ring  []answer // at most answersKept, the oldest at next once it is full
	next  int
	marks map[protocol.CallReference]uint32 // highest sequence that had an effect
}

// answer is what was answered to a request.
type answer struct {
	header  protocol.Header // of the request
	payload []byte          // nil: it will be answered later, or never
}

// find returns the answer to a request that came before.
func (a *memory) find(h protocol.Header) (payload []byte, known bool) {
	for i := range a.ring {
		if a.ring[i].header == h {
			return a.ring[i].payload, true
		}
	}

	return nil, false
}

// old tells whether a request that is not in the ring had its effect.
func (a *memory) old(h protocol.Header) bool { return h.Sequence <= a.marks[h.Call] }

// keep keeps an answer, in place of the one to the same request if there is one.
func (a *memory) keep(h protocol.Header, payload []byte) {
	a.mark(h)

	for i := range a.ring {
		if a.ring[i].header == h {
			a.ring[i].payload = payload

			return
		}
	}

	if len(a.ring) < answersKept {
		a.ring = append(a.ring, answer{header: h, payload: payload})

		return
	}

	a.ring[a.next] = answer{header: h, payload: payload}
	a.next = (a.next + 1) % answersKept
}

// mark raises the mark of the request's call.
func (a *memory) mark(h protocol.Header) {
	if a.marks == nil {
		a.marks = map[protocol.CallReference]uint32{}
	}

	a.marks[h.Call] = max(a.marks[h.Call], h.Sequence)
	if len(a.marks) <= marksKept {
		return
	}

	oldest := h.Call
	for call, mark := range a.marks {
		if call != protocol.NoCall && mark < a.marks[oldest] {
			oldest = call
		}
	}

	delete(a.marks, oldest)
}
