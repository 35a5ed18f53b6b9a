package call

import (
	"fmt"
	"slices"
	"time"

	"skyring/processor"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// turn is one input being worked on: the call, which it changes, and the effects so far. After an error the effects are void.
type turn struct {
	cfg  Config
	key  []byte
	from []byte // key of the session that notifies
	now  int64  // us, Redis time
	node string
	call *Call

	out processor.Result
	err error
}

// result ends the turn.
func (t *turn) result() (processor.Result, error) {
	if t.err != nil {
		return processor.Result{}, t.err
	}
	if t.call.State != Idle {
		t.out.Body = t.call.Append(nil)
	}
	t.out.Keep, t.out.Ended = t.call.Live(), !t.call.Live()
	return t.out, nil
}

// notify tells another record something.
func (t *turn) notify(to []byte, n saga.Notification) {
	payload, err := saga.Append(nil, n)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("call: notify: %w", err)
	}
	t.out.Notify = append(t.out.Notify, processor.Notification{Key: to, Payload: payload})
}

// station notifies the record of a side's station.
func (t *turn) station(s saga.Side, n saga.Notification) {
	t.notify(key.Station(nil, uint64(t.call.end(s).Station)), n)
}

// pool notifies the pool of a side's beam.
func (t *turn) pool(s saga.Side, n saga.Notification) {
	t.notify(key.Pool(nil, uint16(t.call.end(s).Beam)), n)
}

// request sends a request to a side's station.
func (t *turn) request(s saga.Side, m protocol.Message) {
	t.station(s, &saga.ToStation{Message: m})
}

// respond answers a message of a side's station, if that was a request.
func (t *turn) respond(n *saga.Forward, m protocol.Message) {
	if !n.Response {
		t.station(n.Side, &saga.ToStation{Answers: n.Sequence, Message: m})
	}
}

// arm starts a timer, anew if it runs.
func (t *turn) arm(name Timer, after time.Duration) {
	t.call.armed |= 1 << name
	t.out.Cancel = slices.DeleteFunc(t.out.Cancel, func(n uint8) bool { return n == uint8(name) })
	t.out.Arm = slices.DeleteFunc(t.out.Arm, func(a processor.Arm) bool { return a.Name == uint8(name) })
	t.out.Arm = append(t.out.Arm, processor.Arm{Name: uint8(name), Due: t.now + after.Microseconds()})
}

// cancel stops those of the timers that run.
func (t *turn) cancel(names ...Timer) {
	for _, name := range names {
		if !t.call.isArmed(name) {
			continue
		}
		t.call.armed &^= 1 << name
		t.out.Arm = slices.DeleteFunc(t.out.Arm, func(a processor.Arm) bool { return a.Name == uint8(name) })
		t.out.Cancel = append(t.out.Cancel, uint8(name))
	}
}
