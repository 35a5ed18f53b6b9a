package realrun

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"skyring/processor"
	"skyring/protocol"
	"skyring/protocol/bus"
)

// node is the handler of one processor: a worker of it is busy with a message for as long as the message says. A session's body is how many messages it
// had.
type node struct {
	// static
	index int
	stop  <-chan struct{} // closed when nobody waits for answers any more

	mu     sync.Mutex
	worked map[uint32]struct{} // sequences of messages that had their work; guarded by mu
	labour labour              // guarded by mu
}

// labour is what workers did.
type labour struct {
	asked time.Duration // work of all messages
	took  time.Duration // what it took
	again int           // messages handled once more, without work: another node had changed the session
}

func newNode(index int, stop <-chan struct{}) *node {
	return &node{index: index, stop: stop, worked: map[uint32]struct{}{}}
}

// Apply works and counts. Its result follows from its arguments alone; that the work of a message is done once, however often its effect has to be found anew
// because the session was changed elsewhere, only takes time.
func (n *node) Apply(s processor.Session, m processor.Message) (processor.Result, error) {
	o, err := decodeOrder(m.Payload)
	if err != nil {
		return processor.Result{}, err
	}

	var count uint64

	switch len(s.Body) {
	case 0:
	case 8:
		count = binary.BigEndian.Uint64(s.Body)
	default:
		return processor.Result{}, fmt.Errorf("%w: body of %d bytes", errMessage, len(s.Body))
	}

	if !n.work(o) {
		return processor.Result{Discard: true}, nil
	}

	a := answer{sequence: o.sequence, ordinal: count + 1, node: n.index}

	return processor.Result{
		Body:     binary.BigEndian.AppendUint64(nil, count+1),
		HasReply: true,
		Reply:    bus.Reply{Stream: m.Stream, PPID: protocol.PPID, Payload: a.append(nil)},
	}, nil
}

// work does a message's work, unless that was done. false: the run ended before.
func (n *node) work(o order) bool {
	if n.isDone(o) || o.work == 0 {
		return true
	}

	began := time.Now()

	timer := time.NewTimer(o.work)
	defer timer.Stop()

	select {
	case <-timer.C:
	case <-n.stop:
		return false
	}

	n.mu.Lock()
	defer n.mu.Unlock()

	n.labour.asked += o.work
	n.labour.took += time.Since(began)

	return true
}

// isDone tells whether a message had its work, and that it has it now.
func (n *node) isDone(o order) bool {
	n.mu.Lock()
	defer n.mu.Unlock()

	if _, done := n.worked[o.sequence]; done {
		n.labour.again++

		return true
	}

	n.worked[o.sequence] = struct{}{}

	return false
}

func (n *node) done() labour {
	n.mu.Lock()
	defer n.mu.Unlock()

	return n.labour
}
