package access

import (
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// lead is how many sequences and call references are left out where the store may have lost writes: more than the gateway uses in the time of which
// writes are lost, so that none of those that the station has seen is used for something else.
const lead = 1 << 10

// resync takes that the store lost writes, and that the record went back to what it was some time ago (R8). The station has to prove anew that it is
// there, is asked for its calls, and clears those that the record does not have any more: a channel that they use may be given away already.
func (t *turn) resync() {
	s := t.station
	if s == nil || !s.State.On() {
		return
	}
	t.changed = true
	lost, err := Decode(t.in.Payload)
	if err != nil {
		t.fail(err)
		return
	}
	same := lost.Boot == s.Boot
	if same {
		s.Sequence, s.Reference = max(s.Sequence, lost.Sequence), lost.Reference
	}
	s.Reference = (s.Reference + lead) % uint16(protocol.MaxCall)
	s.Sequence += lead
	t.suspect()
	for i := range lost.Calls {
		if c := &lost.Calls[i]; same && s.callOf(c.Key) == nil {
			if s.call(c.Reference) == nil { // else it is another one's by now
				t.request(protocol.Header{Priority: c.Priority, Call: c.Reference}, protocol.Reset{Cause: protocol.CauseTemporaryFailure})
			}
			t.notify(c.Key, &saga.StationGone{Side: c.Side, Cause: protocol.CauseTemporaryFailure})
		}
	}
	for i := range s.Calls {
		t.request(protocol.Header{Priority: s.Calls[i].Priority, Call: s.Calls[i].Reference}, protocol.StatusEnquiry{})
	}
}

// unknown answers for the station when a call asks for itself that the record does not have, or not any more.
func (t *turn) unknown() {
	id, is := key.CallOf(t.in.From)
	if !is {
		return
	}
	side := saga.Called
	if id.Station == uint64(t.id) {
		side = saga.Calling
	}
	t.notify(t.in.From, &saga.StationGone{Side: side, Cause: protocol.CauseTemporaryFailure})
}
