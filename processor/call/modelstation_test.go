package call_test

import (
	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// toStation plays a station's record, and its station.
func (w *world) toStation(from, station []byte, n processor.Notification) {
	decoded, err := saga.Decode(n.Payload)
	if err != nil {
		w.t.Fatal(err)
	}
	p := w.stations[string(from)+"1"]
	if string(p.station) != string(station) {
		p = w.stations[string(from)+"2"]
	}
	switch n := decoded.(type) {
	case *saga.Offer:
		w.offered(p)
	case *saga.EndCall:
		// A STATUS that was on its way when the call ended is answered with another EndCall: to the call it looks like a record that has forgotten the first.
		if !p.known && !p.gone && !p.ended {
			w.t.Fatalf("EndCall to %v of %s, which never knew the call", p.side, key.Format(p.call))
		}
		p.known, p.ended = false, true
	case *saga.ToStation:
		if p.known {
			w.hears(p, n)
		}
	default:
		w.t.Fatalf("%T to a station", n)
	}
}

func (w *world) offered(p *party) {
	if w.chance(5, "refused") {
		w.send(p, &saga.OfferResult{Cause: protocol.CauseStationAbsent})
		return
	}
	p.known = true
	w.send(p, &saga.OfferResult{Accepted: true, Beam: w.beam()})
}

// hears lets a station react to a message: as it should, not at all, or wrongly.
func (w *world) hears(p *party, n *saga.ToStation) {
	p.sequence++
	request := p.sequence
	switch {
	case n.Answers == 0 && w.chance(12, "unanswered"):
		w.send(p, &saga.Unanswered{Side: p.side, Type: n.Message.Type()})
		return
	case n.Answers == 0 && w.chance(12, "deaf"): // a timer must save it
		return
	case n.Answers == 0 && w.chance(30, "error"):
		w.says(p, protocol.Error{Cause: protocol.CauseInvalidMessage}, request)
		return
	}
	w.reacts(p, n, request)
}

// reacts is what a station should do.
func (w *world) reacts(p *party, n *saga.ToStation, request uint32) {
	switch m := n.Message.(type) {
	case protocol.ChannelAssign:
		p.channel = m.Channel
		w.says(p, protocol.ChannelStatus{Locked: !w.chance(10, "no lock")}, request)
		if p.side == saga.Called && !w.chance(8, "not alerted") {
			w.says(p, protocol.CallAlert{}, 0)
		}
		if p.side == saga.Called && p.answers {
			w.says(p, protocol.CallConnect{}, 0)
		}
	case protocol.CallAlert:
		w.says(p, protocol.Status{State: protocol.StateAlerting}, request)
	case protocol.CallConnect:
		w.says(p, protocol.CallConnectAck{}, request)
	case protocol.Disconnect:
		w.says(p, protocol.Release{}, request)
	case protocol.Release:
		w.says(p, protocol.ReleaseComplete{}, map[bool]uint32{true: request}[n.Answers == 0])
	}
}

// accident is something that happens to a side by itself.
func (w *world) accident(p *party) {
	if !p.known {
		return
	}
	switch rapid.IntRange(0, 7).Draw(w.t, "accident") {
	case 0:
		p.known, p.gone = false, true
		w.send(p, &saga.StationGone{Side: p.side, Cause: protocol.CauseInactivity})
	case 1, 2:
		w.says(p, protocol.Disconnect{Cause: protocol.CauseNormalClearing}, 0)
	case 3:
		w.says(p, protocol.Release{Cause: protocol.CauseNormalClearing}, 0)
	case 4:
		w.says(p, protocol.ReleaseComplete{Cause: protocol.CauseUserBusy}, 0)
	case 5:
		if p.side == saga.Calling {
			w.send(p, &saga.Yield{Cause: protocol.CauseGlare})
		}
	case 6:
		w.says(p, protocol.Status{State: protocol.StateIdle}, 0)
	case 7:
		stray := []protocol.Message{
			protocol.CallAlert{},
			protocol.CallConnect{},
			protocol.CallConnectAck{},
			protocol.ChannelStatus{Locked: true},
			protocol.ChannelStatus{},
			protocol.StatusEnquiry{},
			protocol.Status{State: protocol.StateActive},
		}
		w.says(p, rapid.SampledFrom(stray).Draw(w.t, "message"), 0)
	}
}
