package access

import (
	"fmt"
	"slices"

	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// notification takes what a call tells the station's record.
func (t *turn) notification() {
	t.changed = true
	n, err := saga.Decode(t.in.Payload)
	if err != nil {
		t.fail(fmt.Errorf("notification from %s: %w", key.Format(t.in.From), err))
		return
	}
	switch n := n.(type) {
	case *saga.Offer:
		t.offer(n)
	case *saga.ToStation:
		t.toStation(n)
	case *saga.EndCall:
		if t.station == nil {
			return
		}
		if c := t.station.callOf(t.in.From); c != nil {
			t.forget(c.Reference)
		}
	default:
		t.fail(fmt.Errorf("%w: kind %d from %s", errNotification, n.Kind(), key.Format(t.in.From)))
	}
}

// offer takes a call to the station, or refuses it.
func (t *turn) offer(n *saga.Offer) {
	var cause protocol.Cause
	switch {
	case t.station == nil:
		cause = protocol.CauseUnallocatedNumber
	case t.station.Profile.Barred:
		cause = protocol.CauseIncomingBarred
	case !t.station.State.On():
		cause = protocol.CauseStationAbsent
	default:
		cause = t.room(n)
	}
	if cause != 0 {
		t.notify(t.in.From, &saga.OfferResult{Cause: cause})
		return
	}
	c := Call{
		Reference: t.station.choose(), Key: slices.Clone(t.in.From), Side: saga.Called, Peer: n.Calling, Priority: n.Priority,
		State: protocol.StateRequested,
	}
	t.station.Calls = append(t.station.Calls, c)
	t.notify(c.Key, &saga.OfferResult{Accepted: true, Beam: t.station.Beam})
	t.request(protocol.Header{Priority: c.Priority, Call: c.Reference}, protocol.CallAnnounce{Calling: n.Calling, Service: n.Service})
}

// room tells why a call is refused by a station that is there, 0 if it is not.
//
// A station may be calling the one that calls it (glare). Then the call of the station with the lower id goes on, and the other one gives way. Both ends
// come to the same, whichever offer is first.
func (t *turn) room(n *saga.Offer) protocol.Cause {
	own := t.colliding(n.Calling)
	if own != nil && t.id < n.Calling {
		return protocol.CauseGlare
	}
	if own != nil {
		own.Yielded = true
	}
	if t.station.full(n.Priority) {
		if own != nil {
			own.Yielded = false
		}
		return protocol.CauseUserBusy
	}
	if own != nil {
		t.notify(own.Key, &saga.Yield{Cause: protocol.CauseGlare})
	}
	return 0
}

// colliding finds a call of the station itself to another one that may not have been offered there yet, nil for none.
func (t *turn) colliding(other protocol.StationID) *Call {
	for i := range t.station.Calls {
		own := &t.station.Calls[i]
		if own.Side == saga.Calling && own.Peer == other && own.State == protocol.StateRequested && !own.Yielded && t.without != glareRule {
			return own
		}
	}
	return nil
}

// toStation sends the station what a call has for it: a response to the station's request, kept for its repetitions, or a request.
func (t *turn) toStation(n *saga.ToStation) {
	_, enquiry := n.Message.(protocol.StatusEnquiry)
	enquiry = enquiry && n.Answers == 0
	var c *Call
	if t.station != nil {
		c = t.station.callOf(t.in.From)
	}
	switch {
	case c == nil && enquiry:
		t.unknown()
		return
	case c == nil:
		return
	case enquiry: // the call went back; whether this record did too is not known yet
		t.station.Sequence += lead
	}
	c.pass(n.Message)
	h := protocol.Header{Priority: c.Priority, Call: c.Reference}
	if n.Answers == 0 {
		t.request(h, n.Message)
		return
	}
	h.Station, h.Sequence, h.Flags = t.id, n.Answers, protocol.Response
	payload := t.encode(h, n.Message)
	if tx := t.station.Memory.find(c.Reference, n.Answers); tx != nil {
		tx.Response = payload
	}
	t.toLeg(payload)
}
