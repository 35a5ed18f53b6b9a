package access

import (
	"slices"

	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// transaction gives a request of the station its effect, once (R4).
func (t *turn) transaction(h protocol.Header, m protocol.Message) {
	memory := &t.station.Memory
	if tx := memory.find(h.Call, h.Sequence); tx != nil {
		t.repeated(h, tx)
		return
	}
	if t.station.State == LoggingOff && h.Type != protocol.TypeLogoffRequest {
		t.answer(h, protocol.Error{Cause: protocol.CauseNotLoggedOn})
		return
	}
	if h.Sequence <= memory.mark(h.Call) && t.without != markRule {
		if !IsNotice(h.Type) {
			t.answer(h, protocol.Status{State: t.stateOf(h.Call), Cause: protocol.CauseTransactionOld})
		}
		return
	}
	switch m := m.(type) {
	case protocol.LogoffRequest:
		t.remember(h, t.answer(h, protocol.LogoffAck{}))
		t.endCalls(m.Cause)
		t.off()
	case protocol.Reset:
		t.reset(h, m)
	case protocol.CallSetup:
		t.setup(h, m)
	case protocol.CapacityRequest:
		t.answer(h, protocol.Error{Cause: protocol.CauseServiceNotImplemented})
	default:
		t.inCall(h, m)
	}
}

// repeated answers a request that had its effect. When the call has not responded yet it will; when it is gone it never will.
func (t *turn) repeated(h protocol.Header, tx *Transaction) {
	switch {
	case len(tx.Response) > 0:
		t.reply(tx.Response)
	case !IsNotice(h.Type) && t.station.call(h.Call) == nil:
		t.answer(h, protocol.Status{State: protocol.StateIdle, Cause: protocol.CauseCallCleared})
	}
}

// remember notes a request that took effect, with its response, nil when there is none yet.
func (t *turn) remember(h protocol.Header, response []byte) {
	t.station.Memory.push(Transaction{Call: h.Call, Sequence: h.Sequence, At: t.now, Response: response}, t.now-t.config.Memory.Microseconds())
	t.changed = true
}

func (t *turn) stateOf(reference protocol.CallReference) protocol.CallState {
	if c := t.station.call(reference); c != nil {
		return c.State
	}
	return protocol.StateIdle
}

// reset clears one call, or all of them, since the station does not know them as we do.
func (t *turn) reset(h protocol.Header, m protocol.Reset) {
	if h.Call == protocol.NoCall {
		t.endCalls(m.Cause)
	} else if c := t.station.call(h.Call); c != nil {
		t.notify(c.Key, &saga.StationGone{Side: c.Side, Cause: m.Cause})
		t.forget(c.Reference)
	}
	t.remember(h, t.answer(h, protocol.ResetAck{}))
}

func (t *turn) forget(reference protocol.CallReference) {
	t.station.forget(reference)
	t.armRepeat()
}

// setup begins a call, or refuses it.
func (t *turn) setup(h protocol.Header, m protocol.CallSetup) {
	s := t.station
	refusal := protocol.Cause(0)
	switch {
	case s.call(h.Call) != nil:
		t.remember(h, t.answer(h, protocol.Error{Cause: protocol.CauseInvalidCallReference}))
		return
	case m.Called == t.id:
		refusal = protocol.CauseInvalidAddress
	case h.Priority > s.Profile.MaxPriority:
		refusal = protocol.CausePriorityTooHigh
	case s.full(h.Priority):
		refusal = protocol.CauseCallLimit
	}
	if refusal != 0 {
		t.remember(h, t.answer(h, protocol.ReleaseComplete{Cause: refusal}))
		return
	}
	call := key.Call(nil, key.CallID{Station: uint64(t.id), Boot: s.Boot, Reference: uint16(h.Call), Sequence: h.Sequence})
	s.Calls = append(s.Calls, Call{
		Reference: h.Call, Key: call, Side: saga.Calling, Peer: m.Called, Priority: h.Priority, State: protocol.StateRequested,
	})
	t.notify(call, &saga.Setup{
		Calling: t.id, Called: m.Called, Reference: h.Call, Service: m.Service, Priority: h.Priority, Beam: s.Beam,
	})
	t.remember(h, t.answer(h, protocol.CallProceeding{}))
}

// inCall passes a request on to its call, or says that there is none.
func (t *turn) inCall(h protocol.Header, m protocol.Message) {
	if c := t.station.call(h.Call); c != nil {
		t.forward(c, h, m)
		t.remember(h, nil)
		return
	}
	switch m.(type) {
	case protocol.Disconnect, protocol.Release:
		t.answer(h, protocol.ReleaseComplete{Cause: protocol.CauseInvalidCallReference})
	case protocol.ReleaseComplete, protocol.Status:
	case protocol.StatusEnquiry:
		t.answer(h, protocol.Status{State: protocol.StateIdle, Cause: protocol.CauseResponseToEnquiry})
	default:
		t.answer(h, protocol.Status{State: protocol.StateIdle, Cause: protocol.CauseInvalidCallReference})
	}
}

// response takes the station's response to a request of ours. A response to nothing is one that was repeated.
func (t *turn) response(h protocol.Header, m protocol.Message) {
	at := slices.IndexFunc(t.station.Requests, func(r Request) bool {
		return r.Call == h.Call && r.Sequence == h.Sequence && responds(r.Type, h.Type)
	})
	if at < 0 {
		return
	}
	request := t.station.Requests[at]
	t.station.Requests = slices.Delete(t.station.Requests, at, at+1)
	t.changed = true
	if request.Type == protocol.TypeLogoffRequest {
		t.off()
		return
	}
	t.armRepeat()
	if c := t.station.call(h.Call); c != nil {
		t.forward(c, h, m)
	}
}

// forward passes a message on to its call.
func (t *turn) forward(c *Call, h protocol.Header, m protocol.Message) {
	c.pass(m)
	t.notify(c.Key, &saga.Forward{Side: c.Side, Response: h.Response(), Sequence: h.Sequence, Message: m})
}

// pass notes what a message that goes by, in either direction, tells of the call's state.
func (c *Call) pass(m protocol.Message) {
	state := protocol.StateIdle
	switch m := m.(type) {
	case protocol.ChannelAssign:
		state = protocol.StateAssigned
	case protocol.ChannelStatus:
		if m.Locked {
			state = protocol.StateLocking
		}
	case protocol.CallAlert:
		state = protocol.StateAlerting
	case protocol.CallConnectAck:
		state = protocol.StateActive
	case protocol.Disconnect:
		state = protocol.StateDisconnecting
	case protocol.Release, protocol.ReleaseComplete:
		state = protocol.StateReleasing
	}
	c.State = max(c.State, state)
}
