package call

import (
	"skyring/processor/saga"
	"skyring/protocol"
)

// resync takes that the store lost writes, and that the call went back to what it was some time ago (R8). Stations and pools may be further than it, or done
// with it. So each station that should know the call is asked for it, what was asked of pools is asked again, which is the same to them, and an offer is given
// up: whether it was answered can not be known any more.
func (t *turn) resync() {
	c := t.call
	if !c.Live() {
		return
	}
	for _, s := range sides() {
		e := c.end(s)
		switch e.Dialogue {
		case DialogueUp, DialogueDisconnecting, DialogueReleasing:
			t.request(s, protocol.StatusEnquiry{})
		case DialogueOffered:
			t.finish(s)
			t.clear(PartyGateway, protocol.CauseTemporaryFailure)
		case DialogueNone, DialogueDone:
		}
		switch e.Hold {
		case HoldAsked:
			t.pool(s, &saga.Allocate{Side: s, Priority: c.Priority})
		case HoldFreeing:
			t.pool(s, &saga.Free{Side: s})
		case HoldNone, HoldGranted, HoldFreed:
		}
	}
}

// enquired takes a station's answer to STATUS-ENQUIRY. What is further than the call can be is of what the store lost: the call is cleared.
func (t *turn) enquired(s saga.Side, m protocol.Status) {
	switch m.State {
	case protocol.StateIdle:
		t.completed(s, protocol.CauseTemporaryFailure)
	case protocol.StateActive:
		if t.call.State < Active {
			t.clear(party(s), protocol.CauseTemporaryFailure)
		}
	case protocol.StateDisconnecting, protocol.StateReleasing:
		t.clear(party(s), protocol.CauseTemporaryFailure)
	case protocol.StateRequested, protocol.StateQueued, protocol.StateAssigned, protocol.StateLocking, protocol.StateAlerting:
	default:
	}
}
