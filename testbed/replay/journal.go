package replay

import (
	"sync"
	"time"

	"skyring/protocol/key"
	"skyring/protocol/receipt"
	"skyring/testbed/trace"
)

// lane is what ordinals count in: a stream and the U bit.
type lane struct {
	stream    uint16 // as sent, after folding
	unordered bool
}

// entry is a message that was handed to the association.
type entry struct {
	message int32          // index in the station's messages
	session int32          // number of its session key
	status  receipt.Status // of its receipt; 0: none came
	hash    uint64         // of the payload
	sent    time.Time
}

func (e *entry) answered() bool { return e.status != 0 }

// order is where receipts must come in increasing ordinals.
type order struct {
	session int32
	stream  uint16
}

// content is an unordered message as its receipt tells it.
type content struct {
	stream uint16
	hash   uint64
}

// arrival is an unordered message as the receiver counts it.
type arrival struct {
	stream  uint16
	ordinal uint64
}

// tally counts what became of the messages of a station or of a run.
type tally struct {
	sent         uint64 // handed to an association
	unsent       uint64 // not taken by an association: it failed before, or refused them
	acknowledged uint64 // committed, says their receipt
	doubled      uint64 // receipts for a message that had one
	outOfOrder   uint64 // receipts before which a later message of the same session and stream was committed
	stale        uint64 // of the acknowledged, those whose reply was no longer kept
	quarantined  uint64 // set aside by the target as it fails on them: not committed
	unexpected   uint64 // receipts that match no message
	replies      uint64 // other messages from the target
}

func (t *tally) add(o tally) {
	t.sent += o.sent
	t.unsent += o.unsent
	t.acknowledged += o.acknowledged
	t.doubled += o.doubled
	t.outOfOrder += o.outOfOrder
	t.stale += o.stale
	t.quarantined += o.quarantined
	t.unexpected += o.unexpected
	t.replies += o.replies
}

// settle counts what a receipt says of its message; by is 1, or -1 to take that back.
func (t *tally) settle(s receipt.Status, by int) {
	n := uint64(by) //nolint:gosec // adding it wraps around to the difference
	switch s {
	case receipt.Committed:
		t.acknowledged += n
	case receipt.Stale:
		t.acknowledged += n
		t.stale += n
	case receipt.Quarantined:
		t.quarantined += n
	}
}

// journal notes what one station sent and matches receipts with it. It may be used by
// many goroutines.
type journal struct {
	messages []*trace.Message // static

	mu       sync.Mutex
	tally    tally                // guarded by mu, as all that follows
	entries  map[lane][]entry     // the ordinal of an entry is its index and one
	byHash   map[content][]int32  // ordinals of unordered messages, answered ones among them
	seen     map[arrival]struct{} // ordinals that unordered messages had with the receiver
	sessions map[string]int32     // session key, association erased, to its number
	last     map[order]uint64     // highest ordinal that had a receipt
	pending  int                  // entries without an answer
	finished bool                 // nothing more will be sent
	complete chan struct{}        // closed when finished and nothing is pending
	keyed    []byte               // scratch
}

func newJournal(messages []*trace.Message) *journal {
	return &journal{
		messages: messages,
		entries:  make(map[lane][]entry),
		byHash:   make(map[content][]int32),
		seen:     make(map[arrival]struct{}),
		sessions: make(map[string]int32),
		last:     make(map[order]uint64),
		complete: make(chan struct{}),
	}
}

// sending notes a message before it is handed over, since its receipt may come before
// the hand-over returns.
func (j *journal) sending(message int, stream uint16, now time.Time) {
	m := j.messages[message]

	j.mu.Lock()
	defer j.mu.Unlock()

	l := lane{stream, m.Unordered}
	e := entry{
		message: int32(message), //nolint:gosec // a trace holds fewer
		session: j.session(m),
		hash:    receipt.Hash(m.Payload),
		sent:    now,
	}
	j.entries[l] = append(j.entries[l], e)

	if m.Unordered {
		c := content{stream, e.hash}
		j.byHash[c] = append(j.byHash[c], int32(len(j.entries[l]))) //nolint:gosec // a trace holds fewer
	}

	j.pending++
	j.tally.sent++
}

// refused takes the last sending of a message back: it was not handed over. A receipt that came for it nevertheless
// tells of something that did not happen.
func (j *journal) refused(message int, stream uint16) {
	j.mu.Lock()
	defer j.mu.Unlock()

	l := lane{stream, j.messages[message].Unordered}
	last := len(j.entries[l]) - 1
	e := j.entries[l][last]
	j.entries[l] = j.entries[l][:last]
	j.tally.sent--

	if e.answered() {
		j.tally.unexpected++
		j.tally.settle(e.status, -1)

		return
	}

	j.pending--

	if c := (content{stream, e.hash}); l.unordered {
		j.byHash[c] = j.byHash[c][:len(j.byHash[c])-1]
	}
}

// finish says that nothing more will be sent; what is left of the messages is unsent.
func (j *journal) finish() {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.finished = true
	j.tally.unsent = uint64(len(j.messages)) - j.tally.sent
	j.settle()
}

// session numbers the session key of a message. A key that cannot be read is the
// association's, as it is for the dispatcher.
func (j *journal) session(m *trace.Message) int32 {
	j.keyed, _ = key.Append(j.keyed[:0], 0, m.PPID, m.Payload)

	n, known := j.sessions[string(j.keyed)]
	if !known {
		n = int32(len(j.sessions)) //nolint:gosec // at most one a message
		j.sessions[string(j.keyed)] = n
	}

	return n
}

// settle closes complete when all is answered. The caller holds mu.
func (j *journal) settle() {
	if !j.finished || j.pending > 0 {
		return
	}

	select {
	case <-j.complete:
	default:
		close(j.complete)
	}
}

// reply notes a message from the target that is no receipt.
func (j *journal) reply() {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.tally.replies++
}

// malformed notes a message with the PPID of receipts that is none.
func (j *journal) malformed() {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.tally.unexpected++
}

// receipt notes a receipt. It returns the message's time of sending and true when it is
// the first one for its message.
func (j *journal) receipt(r receipt.Receipt) (time.Time, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()

	e := j.find(r)

	switch {
	case e == nil:
		return time.Time{}, false
	case e.answered():
		j.tally.doubled++

		return time.Time{}, false
	}

	e.status = r.Status
	j.pending--
	j.count(r, e)
	j.settle()

	return e.sent, true
}

// find returns the entry that a receipt is for. nil: there is none, which is counted.
func (j *journal) find(r receipt.Receipt) *entry {
	l := lane{r.Stream, r.Unordered}
	entries := j.entries[l]

	if r.Ordinal > uint64(len(entries)) {
		j.tally.unexpected++

		return nil
	}

	if r.Unordered {
		return j.findUnordered(r, entries)
	}

	e := &entries[r.Ordinal-1]
	if e.hash != r.Hash {
		j.tally.unexpected++

		return nil
	}

	return e
}

// findUnordered matches by content: the receiver counts unordered messages as they
// arrive, which need not be as they were sent.
func (j *journal) findUnordered(r receipt.Receipt, entries []entry) *entry {
	as := arrival{r.Stream, r.Ordinal}
	if _, twice := j.seen[as]; twice {
		j.tally.doubled++

		return nil
	}

	c := content{r.Stream, r.Hash}
	same := j.byHash[c]

	for len(same) > 0 && entries[same[0]-1].answered() {
		same = same[1:]
	}

	if len(same) == 0 {
		j.tally.unexpected++

		return nil
	}

	j.seen[as] = struct{}{}
	j.byHash[c] = same[1:]

	return &entries[same[0]-1]
}

func (j *journal) count(r receipt.Receipt, e *entry) {
	j.tally.settle(r.Status, 1)

	if r.Unordered {
		return
	}

	o := order{e.session, r.Stream}
	if r.Ordinal < j.last[o] {
		j.tally.outOfOrder++

		return
	}

	j.last[o] = r.Ordinal
}

// counts returns the tally as it is now.
func (j *journal) counts() tally {
	j.mu.Lock()
	defer j.mu.Unlock()

	return j.tally
}

// delivered calls yield with each message that was handed over and the stream it went
// on, lane by lane in the order of sending, after finish.
func (j *journal) delivered(yield func(m *trace.Message, stream uint16, answered bool)) {
	j.mu.Lock()
	defer j.mu.Unlock()

	for l, entries := range j.entries {
		for i := range entries {
			yield(j.messages[entries[i].message], l.stream, entries[i].answered())
		}
	}
}
