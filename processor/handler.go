package processor

import (
	"errors"
	"fmt"
	"maps"

	"skyring/protocol/bus"
)

// Handler gives messages of a session their effect. Apply must be a pure function of its arguments: it may run again for the same message when
// another processor changed the session meanwhile, and only the run whose result was committed counts. It may be called by many goroutines.
//
// Neither the body nor the payload may be changed; the result may share memory with both.
//
// An error or a panic means that the message can not be handled: nothing of it is written, it is tried again, and set aside (quarantined)
// when it fails time and again, so that the session goes on.
type Handler interface {
	Apply(s Session, m Message) (Result, error)
}

// Session is what a handler sees of a session.
type Session struct {
	Key  []byte // skyring/protocol/key
	Body []byte // what the handler returned last; empty: the session is new
}

// Message is one message of a session, in order per source association.
type Message struct {
	Epoch     uint64 // names the source association
	Sequence  uint64 // 1, 2, 3, ... over all messages of that association
	Stream    uint16
	Unordered bool
	PPID      uint32
	Payload   []byte
	Now       int64  // us since the Unix epoch, by Redis' clock as well as it is known here
	Node      string // id of the processor
}

// Result is a message's effect.
type Result struct {
	Body     []byte    // the session's new body
	HasReply bool      // Reply is meant
	Reply    bus.Reply // for the source association; its payload must not be empty
}

// Handlers says which handler owns a session: that of the payload protocol of its first message. Later messages of the session go there too,
// whatever their protocol, since a body has one owner. The zero value has no handler at all. It must not be changed once a processor has it.
type Handlers struct {
	standard Handler
	byPPID   map[uint32]Handler
}

// NewHandlers has one handler for every payload protocol.
func NewHandlers(standard Handler) Handlers { return Handlers{standard: standard} }

// With is h with another handler for one payload protocol; ppid is not 0, which stands for all that have none of their own.
func (h Handlers) With(ppid uint32, handler Handler) Handlers {
	m := maps.Clone(h.byPPID)
	if m == nil {
		m = map[uint32]Handler{}
	}
	m[ppid] = handler
	return Handlers{standard: h.standard, byPPID: m}
}

// errNoHandler means that a session belongs to a handler that this processor does not have: another version of the program may.
var errNoHandler = errors.New("no handler")

// owner is the name under which records remember the handler of a new session.
func (h Handlers) owner(ppid uint32) uint32 {
	if _, own := h.byPPID[ppid]; own {
		return ppid
	}
	return 0
}

func (h Handlers) find(owner uint32) (Handler, error) { //nolint:ireturn // whose handler it is, is the question
	if owner == 0 && h.standard != nil {
		return h.standard, nil
	}
	if handler, ok := h.byPPID[owner]; ok {
		return handler, nil
	}
	return nil, fmt.Errorf("%w for sessions of payload protocol %d", errNoHandler, owner)
}

// apply runs a handler and makes an error of its panic.
func apply(h Handler, s Session, m Message) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = Result{}, fmt.Errorf("handler panicked: %v", p)
		}
	}()
	r, err = h.Apply(s, m)
	if err == nil && r.HasReply && len(r.Reply.Payload) == 0 {
		return Result{}, errors.New("handler gave an empty reply")
	}
	return r, err
}
