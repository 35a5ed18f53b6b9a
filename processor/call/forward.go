package call

import (
	"skyring/processor/saga"
	"skyring/protocol"
)

// forward takes a message that a station sent in the call. Each request is answered, also one that has no effect; a station that is done with, or
// was never told of the call, gets nothing.
func (t *turn) forward(n *saga.Forward) {
	switch t.call.end(n.Side).Dialogue {
	case DialogueNone, DialogueOffered:
		return
	case DialogueDone:
		if _, is := n.Message.(protocol.Status); is && n.Response { // its record has forgotten that it was told
			t.station(n.Side, &saga.EndCall{})
		}
		return
	case DialogueUp, DialogueDisconnecting, DialogueReleasing:
	}
	switch m := n.Message.(type) {
	case protocol.Disconnect:
		t.disconnected(n, m.Cause)
	case protocol.Release:
		t.released(n, m.Cause)
	case protocol.ReleaseComplete:
		t.completed(n.Side, m.Cause)
	case protocol.Status:
		t.status(n, m)
	case protocol.StatusEnquiry:
		t.respond(n, protocol.Status{State: t.told(n.Side), Cause: protocol.CauseResponseToEnquiry})
	case protocol.Error:
		if n.Response {
			t.refused(n.Side, m.Cause)
		}
	default:
		t.progress(n)
	}
}

// progress takes the messages that bring a call about. In the release they have no effect.
func (t *turn) progress(n *saga.Forward) {
	up := t.call.end(n.Side).Dialogue == DialogueUp
	switch m := n.Message.(type) {
	case protocol.ChannelStatus:
		if up {
			t.channelStatus(n, m)
			return
		}
	case protocol.CallAlert:
		if up && n.Side == saga.Called {
			t.alerted(n)
			return
		}
	case protocol.CallConnect:
		if up && n.Side == saga.Called {
			t.connected(n)
			return
		}
	case protocol.CallConnectAck:
		if up && n.Side == saga.Calling && t.call.State == Active {
			t.call.Confirmed = true
			t.cancel(T313)
			return
		}
	}
	if !notice(n.Message.Type()) {
		t.respond(n, protocol.Status{State: t.told(n.Side), Cause: protocol.CauseMessageIncompatible})
	}
}

// notice says that nobody answers messages of a type (docs/essp.md section 6.1); those that forward takes itself left out.
func notice(typ protocol.Type) bool {
	return typ == protocol.TypeCallProceeding || typ == protocol.TypeCallConnectAck || typ == protocol.TypeOverload
}

// told is the call's state as a side's station is told it.
func (t *turn) told(s saga.Side) protocol.CallState {
	switch t.call.end(s).Dialogue {
	case DialogueUp:
		return protocol.CallState(t.call.State)
	case DialogueDisconnecting:
		return protocol.StateDisconnecting
	case DialogueReleasing:
		return protocol.StateReleasing
	case DialogueNone, DialogueOffered, DialogueDone:
		return protocol.StateIdle
	default:
		return protocol.StateIdle
	}
}

// acknowledge answers a request that has no other answer.
func (t *turn) acknowledge(n *saga.Forward) { t.respond(n, protocol.Status{State: t.told(n.Side)}) }

// channelStatus takes what a station says of its lock. Without one there is nothing to alert a user for; but once alerting, a lock that is lost may be a fade,
// and come back: the channel stays with the call until a station releases it.
func (t *turn) channelStatus(n *saga.Forward, m protocol.ChannelStatus) {
	c, e := t.call, t.call.end(n.Side)
	switch c.State {
	case Assigned, Locking:
		switch {
		case !m.Locked:
			t.acknowledge(n)
			t.clear(party(n.Side), either(m.Cause, protocol.CauseContinuityFailure))
			return
		case !e.Locked:
			t.locked(n.Side)
		}
	case Alerting, Active:
		e.Locked = m.Locked
	case Idle, Requested, Queued, Disconnecting, Releasing, Ended:
	}
	t.acknowledge(n)
}

// alerted takes CALL-ALERT of the called station, which counts once both have locked.
func (t *turn) alerted(n *saga.Forward) {
	c := t.call
	if c.State < Alerting {
		c.Alerted = true
	}
	if c.State == Locking && c.locked() {
		t.alert()
	}
	t.acknowledge(n)
}

// connected takes CALL-CONNECT of the called station, which counts once both have locked, and is answered then.
func (t *turn) connected(n *saga.Forward) {
	c := t.call
	if c.State == Active {
		t.respond(n, protocol.CallConnectAck{})
		return
	}
	c.Connected, c.ConnectSequence = true, n.Sequence
	if c.State == Alerting || c.State == Locking && c.locked() {
		t.connect()
	}
}

// disconnected takes DISCONNECT. When it crosses with ours, each side's is answered (Q.931 section 5.3.5).
func (t *turn) disconnected(n *saga.Forward, cause protocol.Cause) {
	t.respond(n, protocol.Release{})
	if t.call.end(n.Side).Dialogue == DialogueReleasing {
		return
	}
	t.release(n.Side)
	t.clear(party(n.Side), cause)
}

// released takes RELEASE, which answers our DISCONNECT, crosses with our RELEASE, or releases the call in one step.
func (t *turn) released(n *saga.Forward, cause protocol.Cause) {
	answers := n.Sequence
	if n.Response {
		answers = 0 // it is no request; EndCall keeps this one from being repeated
	}
	t.station(n.Side, &saga.ToStation{Answers: answers, Message: protocol.ReleaseComplete{}})
	t.completed(n.Side, cause)
}

// completed is done with a side, whose station has forgotten the call.
func (t *turn) completed(s saga.Side, cause protocol.Cause) {
	t.finish(s)
	t.clear(party(s), cause)
}

// status takes what a station says of its state. One that does not know the call has lost it, and is released (Q.931 section 5.8.11).
func (t *turn) status(n *saga.Forward, m protocol.Status) {
	switch {
	case n.Response && m.Cause == protocol.CauseResponseToEnquiry:
		t.enquired(n.Side, m)
	case m.State == protocol.StateIdle:
		t.completed(n.Side, either(m.Cause, protocol.CauseTemporaryFailure))
	}
}

func either(cause, otherwise protocol.Cause) protocol.Cause {
	if cause == 0 {
		return otherwise
	}
	return cause
}
