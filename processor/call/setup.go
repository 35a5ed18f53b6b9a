package call

import (
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

// begin takes what comes for a call that was not set up: Setup, or what outlived the tombstone of a call or comes after the store lost the call (R8).
// Then whoever speaks of it is told that there is no such call, and nothing is kept.
func (t *turn) begin(n saga.Notification) {
	kind := key.KindOf(t.from)
	switch n := n.(type) {
	case *saga.Setup:
		t.setup(n)
	case *saga.OfferResult:
		if n.Accepted && kind == key.KindStation {
			t.deny()
		}
	case *saga.Forward:
		if kind == key.KindStation {
			t.deny()
		}
	case *saga.Allocated:
		if n.OK && kind == key.KindPool {
			t.notify(t.from, &saga.Free{Side: n.Side})
		}
	}
}

// deny tells a station that there is no such call.
func (t *turn) deny() {
	t.notify(t.from, &saga.ToStation{Message: protocol.ReleaseComplete{Cause: protocol.CauseInvalidCallReference}})
	t.notify(t.from, &saga.EndCall{})
}

// setup begins the call: the called station's record is asked.
func (t *turn) setup(n *saga.Setup) {
	if id, is := key.StationOf(t.from); !is || id != uint64(n.Calling) {
		return
	}
	c := t.call
	c.State, c.Setup, c.Service, c.Priority = Requested, t.now, n.Service, n.Priority
	c.Calling = End{Station: n.Calling, Beam: n.Beam, Dialogue: DialogueUp}
	c.Called = End{Station: n.Called, Dialogue: DialogueOffered}
	t.station(saga.Called, &saga.Offer{Calling: n.Calling, Service: n.Service, Priority: n.Priority})
	t.arm(T303, t.cfg.T303)
}

// offerResult goes on with both channels, or ends a call that was refused. An offer that is accepted after the release began is taken back.
func (t *turn) offerResult(n *saga.OfferResult) {
	c := t.call
	switch {
	case c.Called.Dialogue != DialogueOffered:
	case !n.Accepted:
		c.Called.Dialogue = DialogueDone
		t.clear(PartyCalled, n.Cause)
	case c.clearing():
		c.Called.Dialogue, c.Called.Beam = DialogueUp, n.Beam
		t.disconnect(saga.Called)
	default:
		c.Called.Dialogue, c.Called.Beam = DialogueUp, n.Beam
		for _, s := range sides() {
			c.end(s).Hold = HoldAsked
			t.pool(s, &saga.Allocate{Side: s, Priority: c.Priority})
		}
	}
}

// allocated goes on once both channels are there. One that comes after the release began is given back.
func (t *turn) allocated(n *saga.Allocated) {
	e := t.call.end(n.Side)
	if e.Hold != HoldAsked {
		return
	}
	if !n.OK {
		e.Hold = HoldNone
		t.clear(PartyGateway, n.Cause)
		return
	}
	e.Hold, e.Channel = HoldGranted, n.Channel.Number
	if !t.call.clearing() && t.call.end(n.Side.Other()).Hold == HoldGranted {
		t.assign()
	}
}

// assign tells both stations their channels.
func (t *turn) assign() {
	t.call.State, t.call.Assigned = Assigned, t.now
	t.cancel(T303)
	t.arm(TLock, t.cfg.Lock)
	for _, s := range sides() {
		e := t.call.end(s)
		t.request(s, protocol.ChannelAssign{LockTimeout: t.cfg.T321, Channel: protocol.Channel{Beam: e.Beam, Number: e.Channel}})
	}
}

// locked takes note that a side has locked. What the called station said before both had is due then.
func (t *turn) locked(s saga.Side) {
	c := t.call
	c.State = Locking
	c.end(s).Locked = true
	if !c.locked() {
		return
	}
	t.cancel(TLock)
	t.arm(T310, t.cfg.T310)
	switch {
	case c.Connected:
		t.connect()
	case c.Alerted:
		t.alert()
	}
}

// alert tells the calling station that the called user is being alerted.
func (t *turn) alert() {
	t.call.State, t.call.Alerting = Alerting, t.now
	t.cancel(T310)
	t.arm(T301, t.cfg.T301)
	t.request(saga.Calling, protocol.CallAlert{})
}

// connect makes the call active. As Q.931 sections 5.1.8 and 5.2.8 have it, the network's side is active once it has told both stations, and does not wait for
// the calling one's CALL-CONNECT-ACK. But a calling station that never hears of the answer would let the called user talk to nobody, so T313, which Q.931
// has at the answering side alone, watches for it here and ends the call.
func (t *turn) connect() {
	t.call.State, t.call.Answered = Active, t.now
	t.cancel(T310, T301)
	t.arm(T313, t.cfg.T313)
	t.request(saga.Calling, protocol.CallConnect{})
	t.station(saga.Called, &saga.ToStation{Answers: t.call.ConnectSequence, Message: protocol.CallConnectAck{}})
}

func sides() [2]saga.Side { return [2]saga.Side{saga.Calling, saga.Called} }
