package routing

import (
	"time"

	"skyring/protocol/bus"
)

// Message is what a station sent, with all that its processor needs to know.
type Message struct {
	Epoch     uint64 // its association
	Sequence  uint64 // 1, 2, 3, ... over the association
	Ordinal   uint64 // 1, 2, 3, ... over the association's (stream, unordered) pair
	Stream    uint16
	Unordered bool
	PPID      uint32
	Key       []byte // session key; Submit copies it
	Hash      uint64 // of the key, what the ring goes by
	Number    uint64 // what policies that hash numbers go by: a station's id; where there is none, Hash
	Payload   []byte // Submit keeps it until the message is done

	// GiveUp is when the message is given up unless it is done before, and past which no
	// attempt of it may commit: its sender sends it again. 0: never. Of messages that
	// have one, no later one may have an earlier one.
	GiveUp time.Duration
}

// mortal messages may be given up.
func (m *Message) mortal() bool { return m.GiveUp != 0 }

// where an entry is.
type place uint8

const (
	pending  place = iota // waits in its session
	assigned              // in the outbox of a node, counted as in flight there
	written               // went to that node
	held                  // is answered, and told as done after its predecessors
)

// entry is one message that is not answered yet. Entries are pooled: the generation
// tells the uses of one apart.
type entry struct {
	// static after it is made
	index uint32

	generation uint32
	message    Message // Key is the session's
	session    *session
	strand     *strand
	position   uint64 // 0, 1, 2, ... in the strand

	place    place
	node     *node         // while assigned or written
	attempt  uint32        // of the last writing, 0: never written
	event    uint64        // when it was last written
	at       time.Duration // the same, by the core's clock
	deadline timer         // while written

	answer  bus.Answer // while held
	givenUp bool       // while held: there is no answer

	inStrand hook[entry] // among the unanswered ones, or among those that are held
	inFlight hook[entry] // while assigned or written
	inOutbox hook[entry] // while assigned
	inMortal hook[entry] // while unanswered, of one that is given up at some time
}

func (e *entry) id() uint64 { return uint64(e.generation)<<32 | uint64(e.index) }

func (e *entry) size() int { return len(e.message.Payload) + len(e.message.Key) }

// predecessor is the last unanswered message before this one of its key and
// association, nil: none.
func (e *entry) predecessor() *entry { return e.inStrand.before() }

// successor is the first unanswered message after this one of its key and association,
// nil: none.
func (e *entry) successor() *entry { return e.inStrand.after() }

// after is the sequence of the predecessor, 0: none.
func (e *entry) after() uint64 {
	if p := e.predecessor(); p != nil {
		return p.message.Sequence
	}

	return 0
}

// pool keeps entries for reuse and finds them by id.
type pool struct {
	all  []*entry
	free []*entry
}

func (p *pool) take() *entry {
	if n := len(p.free); n > 0 {
		e := p.free[n-1]
		p.free = p.free[:n-1]

		return e
	}

	e := &entry{index: uint32(len(p.all)), generation: 1} //nolint:gosec // far fewer entries fit in memory
	e.inStrand.item = e
	e.inFlight.item = e
	e.inOutbox.item = e
	e.inMortal.item = e
	e.deadline.entry = e
	e.deadline.place.item = &e.deadline
	p.all = append(p.all, e)

	return e
}

// put takes an entry back that is in no list; its id is not valid any more.
func (p *pool) put(e *entry) {
	e.generation++
	e.message, e.answer = Message{}, bus.Answer{}
	e.session, e.strand, e.node, e.givenUp = nil, nil, nil, false
	e.position, e.attempt, e.event, e.place = 0, 0, 0, pending
	p.free = append(p.free, e)
}

// find returns the entry with an id, nil when that one is done.
func (p *pool) find(id uint64) *entry {
	index := id & (1<<32 - 1)
	if index >= uint64(len(p.all)) {
		return nil
	}

	e := p.all[index]
	if uint64(e.generation) != id>>32 || e.session == nil {
		return nil
	}

	return e
}

// len is the number of entries in use.
func (p *pool) len() int { return len(p.all) - len(p.free) }

// doubled is base doubled n times, at most limit, with a jitter of a fifth up or down
// where n > 0: random is in [0, 1).
func doubled(base, limit time.Duration, n int, random float64) time.Duration {
	if n == 0 {
		return base
	}

	d := limit
	if n < 32 && base<<n > 0 {
		d = min(base<<n, limit)
	}

	return time.Duration(float64(d) * (0.8 + 0.4*random))
}
