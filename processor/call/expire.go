package call

import (
	"skyring/processor/saga"
	"skyring/protocol"
)

// expired takes a timer that fired. It ends waiting, and begins the release or goes on with it; it never frees a channel that a station may use.
func (t *turn) expired(name Timer) {
	if !t.call.isArmed(name) {
		return
	}
	t.call.armed &^= 1 << name
	switch name {
	case T303, T313:
		t.clear(PartyGateway, protocol.CauseTimerExpiry)
	case TLock:
		t.clear(PartyGateway, protocol.CauseContinuityFailure)
	case T310:
		t.clear(PartyGateway, protocol.CauseNoUserResponding)
	case T301:
		t.clear(PartyGateway, protocol.CauseNoAnswer)
	case T305Calling:
		t.insist(saga.Calling)
	case T305Called:
		t.insist(saga.Called)
	case T308Calling:
		t.giveUp(saga.Calling)
	case T308Called:
		t.giveUp(saga.Called)
	}
}

// insist sends RELEASE to a side that does not answer DISCONNECT.
func (t *turn) insist(s saga.Side) {
	t.release(s)
	t.request(s, protocol.Release{Cause: t.call.Cause})
}

// giveUp sends RELEASE once more to a side that does not answer it, and then is done with it.
func (t *turn) giveUp(s saga.Side) {
	e := t.call.end(s)
	if e.Repeated {
		t.finish(s)
		return
	}
	e.Repeated = true
	t.insist(s)
}

// unanswered takes notice that a station did not respond to a request, for all repetitions.
func (t *turn) unanswered(n *saga.Unanswered) {
	c, e := t.call, t.call.end(n.Side)
	up := e.Dialogue == DialogueUp
	switch n.Type { //nolint:exhaustive // what else is sent is no request, or is watched by a timer
	case protocol.TypeCallAnnounce:
		if up && n.Side == saga.Called && !c.Alerted && !c.Connected && !e.Locked {
			t.clear(PartyGateway, protocol.CauseNoUserResponding)
		}
	case protocol.TypeChannelAssign:
		if up && !e.Locked && (c.State == Assigned || c.State == Locking) {
			t.clear(PartyGateway, protocol.CauseContinuityFailure)
		}
	case protocol.TypeCallConnect:
		if up && n.Side == saga.Calling && c.State == Active && !c.Confirmed {
			t.clear(PartyGateway, protocol.CauseTimerExpiry)
		}
	case protocol.TypeStatusEnquiry: // a fade hides the answer; it ends by the station's word or by that of its record
		if up {
			t.request(n.Side, protocol.StatusEnquiry{})
		}
	case protocol.TypeDisconnect:
		if e.Dialogue == DialogueDisconnecting {
			t.insist(n.Side)
		}
	case protocol.TypeRelease:
		if e.Dialogue == DialogueReleasing {
			t.finish(n.Side)
		}
	}
}

// refused takes an ERROR with which a station answers a request: what the request was for will not happen. Which one it was follows from what is
// awaited, and may be an older one that crossed; so ERROR makes nobody believe that a station has released, which is for T308 to give up.
func (t *turn) refused(s saga.Side, cause protocol.Cause) {
	switch t.call.end(s).Dialogue {
	case DialogueDisconnecting:
		t.insist(s)
	case DialogueUp:
		if t.awaits(s) {
			t.clear(party(s), cause)
		}
	case DialogueNone, DialogueOffered, DialogueReleasing, DialogueDone:
	}
}

// awaits says that the call can not go on without a response of a side.
func (t *turn) awaits(s saga.Side) bool {
	c := t.call
	switch c.State {
	case Requested:
		return s == saga.Called
	case Assigned, Locking:
		return !c.end(s).Locked
	case Active:
		return s == saga.Calling && !c.Confirmed
	case Idle, Queued, Alerting, Disconnecting, Releasing, Ended:
		return false
	default:
		return false
	}
}
