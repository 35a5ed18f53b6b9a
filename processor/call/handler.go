package call

import (
	"fmt"

	"skyring/processor"
	"skyring/processor/saga"
	"skyring/protocol/key"
)

// Calls is the handler of calls' records. It takes notifications of stations and pools, and timers; from associations it takes nothing, for stations
// speak to their own records.
type Calls struct {
	cfg Config // static after New
}

// New is the handler for calls that wait as cfg says, which must be valid.
func New(cfg Config) *Calls { return &Calls{cfg: cfg} }

// Apply refuses: stations do not talk to calls.
func (*Calls) Apply(processor.Session, processor.Message) (processor.Result, error) {
	return processor.Result{Discard: true}, nil
}

// ApplyInput gives a notification or a timer its effect. What does not fit the state, or is repeated, has none. Errors, with which the input is set
// aside after some attempts: the notification is malformed, or the body is.
func (h *Calls) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	if in.Kind == processor.FromAssociation {
		return processor.Result{Discard: true}, nil
	}
	c, err := Decode(s.Body)
	if err != nil {
		return processor.Result{}, err
	}
	t := &turn{cfg: h.cfg, key: s.Key, from: in.From, now: in.Now, node: in.Node, call: c}
	switch in.Kind { //nolint:exhaustive // notifications follow
	case processor.TimerFired:
		t.expired(Timer(in.Timer))
		t.settle()
		return t.result()
	case processor.Resynced:
		t.resync()
		t.settle()
		return t.result()
	}
	n, err := saga.Decode(in.Payload)
	if err != nil {
		return processor.Result{}, fmt.Errorf("call: %w", err)
	}
	t.notified(n)
	t.settle()
	return t.result()
}

// notified hands a notification on. One whose sender is not who may send it has no effect.
func (t *turn) notified(n saga.Notification) {
	if t.call.State == Idle {
		t.begin(n)
		return
	}
	switch n := n.(type) {
	case *saga.OfferResult:
		if t.by(saga.Called) {
			t.offerResult(n)
		}
	case *saga.Allocated:
		if t.ofPool(n.Side) {
			t.allocated(n)
		}
	case *saga.Freed:
		if t.ofPool(n.Side) {
			t.freed(n)
		}
	case *saga.Forward:
		if t.by(n.Side) {
			t.forward(n)
		}
	case *saga.Unanswered:
		if t.by(n.Side) {
			t.unanswered(n)
		}
	case *saga.StationGone:
		if t.by(n.Side) {
			t.gone(n)
		}
	case *saga.Yield:
		if t.by(saga.Calling) {
			t.clear(PartyGateway, n.Cause)
		}
	}
}

// by says that the notification is from the record of a side's station.
func (t *turn) by(s saga.Side) bool {
	id, is := key.StationOf(t.from)
	return is && id == uint64(t.call.end(s).Station)
}

// ofPool says that the notification is from the pool of a side's beam.
func (t *turn) ofPool(s saga.Side) bool {
	beam, is := key.PoolOf(t.from)
	return is && beam == uint16(t.call.end(s).Beam)
}
