package call

import (
	"fmt"

	"skyring/processor"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// Pools is the handler of channel pools' records. A pool is made by an operator (NewPool); calls that ask one that is not there are refused with
// CauseBeamNotServed. It takes Allocate and Free of calls and nothing else: it has no timers, so that nothing but its holder frees a channel (R7).
type Pools struct{}

// Apply refuses: stations do not talk to pools.
func (Pools) Apply(processor.Session, processor.Message) (processor.Result, error) {
	return processor.Result{Discard: true}, nil
}

// ApplyInput gives a notification of a call its effect. Errors, with which the notification is set aside after some attempts: it is malformed, or the
// body is.
func (p Pools) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	if in.Kind != processor.FromSession || key.KindOf(in.From) != key.KindCall {
		return processor.Result{Discard: true}, nil
	}
	n, err := saga.Decode(in.Payload)
	if err != nil {
		return processor.Result{}, fmt.Errorf("channel pool: %w", err)
	}
	if len(s.Body) == 0 {
		return absent(in.From, n)
	}
	pool, err := DecodePool(s.Body)
	if err != nil {
		return processor.Result{}, err
	}
	answer := pool.answer(in.From, n, in.Now)
	if answer == nil {
		return processor.Result{Body: s.Body, Keep: true}, nil
	}
	r := processor.Result{Body: pool.Append(make([]byte, 0, len(s.Body)+64)), Keep: true}
	return notify(r, in.From, answer)
}

// answer is what a pool says to a call; nil: nothing.
func (p *Pool) answer(from []byte, n saga.Notification, now int64) saga.Notification { //nolint:ireturn // it is encoded as it is
	switch n := n.(type) {
	case *saga.Allocate:
		if channel, ok := p.allocate(from, n.Side, now); ok {
			return &saga.Allocated{Side: n.Side, OK: true, Channel: protocol.Channel{Beam: p.Beam, Number: channel}}
		}
		return &saga.Allocated{Side: n.Side, Cause: protocol.CauseNoChannel}
	case *saga.Free:
		p.free(from, n.Side)
		return &saga.Freed{Side: n.Side}
	default:
		return nil
	}
}

// absent answers for a pool that is not there.
func absent(from []byte, n saga.Notification) (processor.Result, error) {
	switch n := n.(type) {
	case *saga.Allocate:
		return notify(processor.Result{}, from, &saga.Allocated{Side: n.Side, Cause: protocol.CauseBeamNotServed})
	case *saga.Free:
		return notify(processor.Result{}, from, &saga.Freed{Side: n.Side})
	default:
		return processor.Result{Discard: true}, nil
	}
}

func notify(r processor.Result, to []byte, n saga.Notification) (processor.Result, error) {
	payload, err := saga.Append(nil, n)
	if err != nil {
		return processor.Result{}, fmt.Errorf("notify: %w", err)
	}
	r.Notify = append(r.Notify, processor.Notification{Key: to, Payload: payload})
	return r, nil
}
