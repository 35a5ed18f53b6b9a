package access

import (
	"errors"
	"fmt"
	"slices"

	"skyring/processor"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/key"
)

// Handler gives messages of stations, notifications of their calls, and timers their effect on station records.
type Handler struct {
	config  Config
	without rule
}

// rule is one of those that tests switch off, to show what it protects from. See export_test.go.
type rule uint8

const (
	noRule     rule = iota
	legRule         // R3: only the leg speaks for a station
	replayRule      // R3: a challenge is answered once
	bindRule        // R3: a challenge is answered on its association
	markRule        // R4: what is at or under the mark is not done again
	bootRule        // R4: a changed boot nonce clears calls and memory
	glareRule       // of two calls between the same stations one gives way
)

// New makes a handler. The configuration must be valid, and its secret that of the namespace.
func New(config Config) Handler { return Handler{config: config} }

var _ processor.SessionHandler = Handler{}

// These are faults of the engine or of another version, never of a station.
var (
	errNoStation    = errors.New("the session's key is not a station's")
	errNotification = errors.New("no notification for a station")
	errInput        = errors.New("unknown kind of input")
)

// Apply gives a message its effect as far as it does not matter which dispatcher it came through; a station can not log on by it.
func (h Handler) Apply(s processor.Session, m processor.Message) (processor.Result, error) {
	return h.ApplyInput(s, processor.Input{
		Kind: processor.FromAssociation, Message: m, Source: processor.Source{Epoch: m.Epoch}, Now: m.Now, Node: m.Node,
	})
}

// ApplyInput gives an input its effect. An error means a damaged record, or a notification that no record sends to a station.
func (h Handler) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	id, ok := key.StationOf(s.Key)
	if !ok {
		return processor.Result{}, fmt.Errorf("%w: %s", errNoStation, key.Format(s.Key))
	}
	t := &turn{Handler: h, id: protocol.StationID(id), now: in.Now, in: in}
	if len(s.Body) > 0 {
		station, err := Decode(s.Body)
		if err != nil {
			return processor.Result{}, err
		}
		t.station = station
	}
	switch in.Kind {
	case processor.FromAssociation:
		t.message()
	case processor.FromSession:
		t.notification()
	case processor.TimerFired:
		t.timer(in.Timer)
		t.changed = t.station != nil
	case processor.Resynced:
		t.resync()
	default:
		t.fail(fmt.Errorf("%w: %v", errInput, in.Kind))
	}
	return t.result(s)
}

// turn is one input's way through the handler.
type turn struct {
	Handler

	id      protocol.StationID
	now     int64 // us, Redis time
	in      processor.Input
	station *Station // nil: it is not in the station table
	changed bool     // the record is to be written
	out     processor.Result
	err     error
}

func (t *turn) result(s processor.Session) (processor.Result, error) {
	if t.err != nil {
		return processor.Result{}, t.err
	}
	if !t.changed {
		t.out.Discard = true
		return t.out, nil
	}
	t.out.Body = s.Body
	if t.station != nil {
		t.out.Body, t.out.Keep = t.station.Append(nil), true
	}
	return t.out, nil
}

func (t *turn) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *turn) encode(h protocol.Header, m protocol.Message) []byte {
	b, err := protocol.Append(nil, h, m)
	if err != nil {
		t.fail(fmt.Errorf("encode message for station %v: %w", t.id, err))
	}
	return b
}

// reply answers the message that is at hand.
func (t *turn) reply(payload []byte) {
	t.out.HasReply = true
	t.out.Reply = bus.Reply{Stream: t.in.Message.Stream, PPID: protocol.PPID, Payload: payload}
}

// answer answers the request that h heads.
func (t *turn) answer(h protocol.Header, m protocol.Message) []byte {
	payload := t.encode(h.Answer(), m)
	t.reply(payload)
	return payload
}

func (t *turn) toLeg(payload []byte) { t.out.ToLeg = append(t.out.ToLeg, payload) }

func (t *turn) notify(session []byte, n saga.Notification) {
	payload, err := saga.Append(nil, n)
	if err != nil {
		t.fail(fmt.Errorf("notify %s: %w", key.Format(session), err))
	}
	t.out.Notify = append(t.out.Notify, processor.Notification{Key: session, Payload: payload})
}

func (t *turn) arm(name uint8, due int64) {
	t.out.Cancel = slices.DeleteFunc(t.out.Cancel, func(c uint8) bool { return c == name })
	t.out.Arm = slices.DeleteFunc(t.out.Arm, func(a processor.Arm) bool { return a.Name == name })
	t.out.Arm = append(t.out.Arm, processor.Arm{Name: name, Due: due})
}

func (t *turn) cancel(names ...uint8) {
	for _, name := range names {
		t.out.Arm = slices.DeleteFunc(t.out.Arm, func(a processor.Arm) bool { return a.Name == name })
		if !slices.Contains(t.out.Cancel, name) {
			t.out.Cancel = append(t.out.Cancel, name)
		}
	}
}

// endCalls tells all calls that the station is out of them.
func (t *turn) endCalls(cause protocol.Cause) {
	for i := range t.station.Calls {
		c := &t.station.Calls[i]
		t.notify(c.Key, &saga.StationGone{Side: c.Side, Cause: cause})
	}
	t.station.Calls, t.station.Requests = nil, nil
	t.cancel(TimerRepeat)
}

// off ends a log-on whose calls have ended.
func (t *turn) off() {
	t.station.State, t.station.Requests = Off, nil
	t.station.settle()
	t.cancel(TimerConfirm, TimerInactivity, TimerInterrogation, TimerFade, TimerRepeat)
	t.out.SetLeg, t.out.DropLegBox, t.out.ToLeg = &processor.Leg{}, true, nil
}

// expel logs off a station that is on and was barred.
func (t *turn) expel() {
	t.endCalls(protocol.CauseStationBarred)
	t.station.State = LoggingOff
	t.cancel(TimerConfirm, TimerInactivity, TimerInterrogation, TimerFade)
	t.request(protocol.Header{}, protocol.LogoffRequest{Cause: protocol.CauseStationBarred})
}
