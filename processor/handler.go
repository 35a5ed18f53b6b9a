package processor

import (
	"errors"
	"fmt"
	"maps"

	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/statestore"
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

// SessionHandler is a handler whose sessions also take what other sessions notify them of, and timers. ApplyInput is called instead of Apply, for
// messages too, under the same rules. What fails time and again is set aside: a notification is acknowledged without effect, a timer removed.
type SessionHandler interface {
	Handler
	ApplyInput(s Session, in Input) (Result, error)
}

// Session is what a handler sees of a session.
type Session struct {
	Key  []byte // skyring/protocol/key
	Body []byte // what the handler returned last; empty: the session is new
	Leg  *Leg   // where its messages for the station go, nil: nowhere; not to be changed
}

// Leg is the association on which a session reaches its station.
type Leg = statestore.Leg

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

// InputKind says what a session gets.
type InputKind uint8

// Kinds of input.
const (
	FromAssociation InputKind = 1 + iota // Message and Source are meant
	FromSession                          // From and Payload are meant
	TimerFired                           // Timer is meant; it is not armed any more
	Resynced                             // Payload is meant: the store lost writes of the session, whose body it was; Session is what there is now
)

// String is the kind in words.
func (k InputKind) String() string {
	switch k {
	case FromAssociation:
		return "message"
	case FromSession:
		return "notification"
	case TimerFired:
		return "timer"
	case Resynced:
		return "resync"
	default:
		return fmt.Sprintf("input(%d)", uint8(k))
	}
}

// Input is what a session gets.
type Input struct {
	Kind    InputKind
	Message Message
	Source  Source
	From    []byte // key of the session that notifies
	Payload []byte // of that notification; of Resynced the newest body that this processor saw, to which the session does not come back
	Timer   uint8
	Now     int64  // us since the Unix epoch, by Redis' clock as well as it is known here; of every kind
	Node    string // id of the processor; of every kind
}

// Source is where a message came from.
type Source struct {
	Dispatcher  string // id
	Incarnation uint64 // of the dispatcher
	Epoch       uint64 // of the association
}

// Result is an input's effect. All of it is committed together, or none.
type Result struct {
	Body     []byte    // the session's new body
	HasReply bool      // Reply is meant; of messages only
	Reply    bus.Reply // for the source association; its payload must not be empty

	// Discard means that nothing is written. A message is answered Refused, with the reply, and comes again like a new one when it is sent again; a
	// notification is acknowledged; a timer is removed, and nothing else. Everything else of the result but AbortAssociation is void.
	Discard          bool
	AbortAssociation bool // the source association is outdated, and is aborted after the reply; of messages only

	Notify     []Notification // for other sessions, each in order
	SetLeg     *Leg           // the new leg; one without dispatcher: none any more. What the old leg has not taken goes to the new one
	DropLegBox bool           // what the leg has not taken is dropped, before ToLeg is added
	ToLeg      [][]byte       // messages for the station, in order, on the leg (SetLeg's, if any); kept until there is one
	Arm        []Arm          // a timer that is armed already is armed anew
	Cancel     []uint8        // names of timers, before Arm
	CDRs       [][]byte

	// Life of the session, until the next result says otherwise. Neither: it is forgotten SessionTTL after its last change. No session is forgotten
	// while something waits in its outbox or a timer is armed.
	Keep  bool // not forgotten
	Ended bool // a tombstone: forgotten when nothing can arrive for it any more; timers are cancelled, but for those in Arm
}

// Notification is for another session, which a handler for its kind of key makes when it is new.
type Notification struct {
	Key     []byte
	Payload []byte
}

// Arm arms a timer.
type Arm struct {
	Name uint8
	Due  int64 // us, Redis time, over 0
}

// Handlers says which handler owns a session: the one for its kind of key, else that of the payload protocol of its first message. Later messages
// of the session go there too, whatever their protocol, since a body has one owner. Sessions that others notify are of a kind with a handler; what is
// for another kind waits until a processor has one. The zero value has no handler at all. It must not be changed once a processor has it.
type Handlers struct {
	standard Handler
	byPPID   map[uint32]Handler
	byKind   map[key.Kind]Handler
	lost     map[uint32]Handler // by PPID, see ForUnreadable
}

// NewHandlers has one handler for every payload protocol.
func NewHandlers(standard Handler) Handlers { return Handlers{standard: standard} }

// With is h with another handler for one payload protocol; ppid is not 0, which stands for all that have none of their own, nor one of the last 256.
func (h Handlers) With(ppid uint32, handler Handler) Handlers {
	m := maps.Clone(h.byPPID)
	if m == nil {
		m = map[uint32]Handler{}
	}
	m[ppid] = handler
	h.byPPID = m
	return h
}

// ForKind is h with a handler for all sessions whose keys are of a kind.
func (h Handlers) ForKind(kind key.Kind, handler Handler) Handlers {
	m := maps.Clone(h.byKind)
	if m == nil {
		m = map[key.Kind]Handler{}
	}
	m[kind] = handler
	h.byKind = m
	return h
}

// ForUnreadable is h with a handler for what of a payload protocol tells no session: such a message has the key of its association, but is no part of
// that session, and whatever it is, nothing may come of it but an answer. The handler gets no body, and whatever its
// result is, it is discarded but for the reply.
func (h Handlers) ForUnreadable(ppid uint32, handler Handler) Handlers {
	m := maps.Clone(h.lost)
	if m == nil {
		m = map[uint32]Handler{}
	}
	m[ppid] = handler
	h.lost = m
	return h
}

// unreadable is the handler for a message that tells no session, nil for any other.
func (h Handlers) unreadable(k []byte, in Input) Handler { //nolint:ireturn // whose handler it is, is the question
	if in.Kind != FromAssociation || key.KindOf(k) != key.KindAssociation {
		return nil
	}
	return h.lost[in.Message.PPID]
}

// errNoHandler means that a session belongs to a handler that this processor does not have: another version of the program may.
var errNoHandler = errors.New("no handler")

// kindOwner begins the names of handlers that own a kind of key.
const kindOwner = 0xFFFFFF00

// owner is the name under which records remember the handler of a new session.
func (h Handlers) owner(k []byte, ppid uint32) uint32 {
	if kind := key.KindOf(k); h.byKind[kind] != nil {
		return kindOwner | uint32(kind)
	}
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
	if owner >= kindOwner {
		if handler, ok := h.byKind[key.Kind(owner&^uint32(kindOwner))]; ok {
			return handler, nil
		}
		return nil, fmt.Errorf("%w for sessions of kind %v", errNoHandler, key.Kind(owner&^uint32(kindOwner)))
	}
	return nil, fmt.Errorf("%w for sessions of payload protocol %d", errNoHandler, owner)
}

// apply runs a handler and makes an error of its panic.
func apply(h Handler, s Session, in Input) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = Result{}, fmt.Errorf("handler panicked: %v", p)
		}
	}()
	if all, ok := h.(SessionHandler); ok {
		r, err = all.ApplyInput(s, in)
	} else if in.Kind == FromAssociation {
		r, err = h.Apply(s, in.Message)
	} else if in.Kind == Resynced {
		r.Discard = true
	} else {
		err = fmt.Errorf("handler takes no %v", in.Kind)
	}
	return r, err
}
