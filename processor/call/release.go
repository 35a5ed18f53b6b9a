package call

import (
	"fmt"

	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// party is the side as one who releases.
func party(s saga.Side) Party {
	if s == saga.Called {
		return PartyCalled
	}
	return PartyCalling
}

// clear begins the release, unless it has begun: each station that knows the call is told DISCONNECT. A called station that may have been offered
// the call is told once its record says so.
func (t *turn) clear(by Party, cause protocol.Cause) {
	c := t.call
	if c.clearing() || c.State == Ended {
		return
	}
	if cause == 0 {
		cause = protocol.CauseNormalUnspecified
	}
	c.Released, c.ReleasedBy, c.Cause = t.now, by, cause
	t.cancel(T303, TLock, T310, T301, T313)
	for _, s := range sides() {
		if c.end(s).Dialogue == DialogueUp {
			t.disconnect(s)
		}
	}
}

// disconnect asks a side to release.
func (t *turn) disconnect(s saga.Side) {
	t.call.end(s).Dialogue = DialogueDisconnecting
	t.request(s, protocol.Disconnect{Cause: t.call.Cause})
	t.arm(t305(s), t.cfg.T305)
}

// release waits for a side's RELEASE-COMPLETE, RELEASE having been sent.
func (t *turn) release(s saga.Side) {
	t.call.end(s).Dialogue = DialogueReleasing
	t.cancel(t305(s))
	t.arm(t308(s), t.cfg.T308)
}

// finish ends what is to say to a side's station; its record forgets the call.
func (t *turn) finish(s saga.Side) {
	t.over(s)
	t.station(s, &saga.EndCall{})
}

// over marks that nothing more is said to a side.
func (t *turn) over(s saga.Side) {
	t.call.end(s).Dialogue = DialogueDone
	t.cancel(t305(s), t308(s))
}

// settle gives back channels that no station can use any more, writes the CDR when both stations are done, and tells how far the release is.
func (t *turn) settle() {
	c := t.call
	if !c.clearing() || c.State == Ended {
		return
	}
	for _, s := range sides() {
		e := c.end(s)
		if e.Hold == HoldGranted && (e.Dialogue == DialogueDone || c.Assigned == 0) {
			e.Hold = HoldFreeing
			t.pool(s, &saga.Free{Side: s})
		}
	}
	a, b := &c.Calling, &c.Called
	switch {
	case a.pending() || b.pending():
		c.State = Disconnecting
	case a.Dialogue != DialogueDone || b.Dialogue != DialogueDone:
		c.State = Releasing
	default:
		t.record()
		c.State = Releasing
		if a.free() && b.free() {
			c.State = Ended
		}
	}
}

// pending says that the side has not begun to release.
func (e *End) pending() bool {
	return e.Dialogue == DialogueOffered || e.Dialogue == DialogueDisconnecting
}

// free says that the side holds nothing and nothing is on its way.
func (e *End) free() bool { return e.Hold == HoldNone || e.Hold == HoldFreed }

// record writes the CDR, once.
func (t *turn) record() {
	c := t.call
	if c.Ended != 0 {
		return
	}
	c.Ended = t.now
	r := CDR{
		Call: key.Format(t.key), Calling: c.Calling.Station.String(), Called: c.Called.Station.String(),
		CallingBeam: c.Calling.Beam, CalledBeam: c.Called.Beam, CallingChannel: c.Calling.Channel, CalledChannel: c.Called.Channel,
		Service: c.Service, Priority: c.Priority,
		Setup: c.Setup, Assigned: c.Assigned, Alerting: c.Alerting, Answered: c.Answered, Released: c.Released, Ended: c.Ended,
		Cause: c.Cause, CauseName: c.Cause.String(), ReleasedBy: c.ReleasedBy, Node: t.node,
	}
	if c.Answered != 0 {
		r.Duration = max(c.Released-c.Answered, 0)
	}
	b, err := r.Append(nil)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("call: %w", err)
	}
	t.out.CDRs = append(t.out.CDRs, b)
}

// freed takes note that a pool has a side's channel again.
func (t *turn) freed(n *saga.Freed) {
	e := t.call.end(n.Side)
	if e.Hold != HoldFreeing {
		return
	}
	e.Hold = HoldFreed
}

// gone ends what is to say to a side whose record has forgotten the call, and releases the other side.
func (t *turn) gone(n *saga.StationGone) {
	d := t.call.end(n.Side).Dialogue
	if d == DialogueNone || d == DialogueDone {
		return
	}
	t.over(n.Side)
	t.clear(party(n.Side), n.Cause)
}

func t305(s saga.Side) Timer {
	if s == saga.Called {
		return T305Called
	}
	return T305Calling
}

func t308(s saga.Side) Timer {
	if s == saga.Called {
		return T308Called
	}
	return T308Calling
}
