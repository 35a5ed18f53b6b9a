package access

import (
	"errors"

	"skyring/protocol"
)

// message judges a message from an association.
func (t *turn) message() {
	h, m, err := protocol.Decode(t.in.Message.Payload)
	if err != nil {
		t.malformed(h, err)
		return
	}
	if h.Station != t.id {
		t.fail(errNoStation)
		return
	}
	switch m := m.(type) {
	case protocol.LogonRequest:
		t.challenge(h, m)
	case protocol.LogonAuth:
		t.authenticate(h, m)
	default:
		if t.speaks() {
			t.fromLeg(h, m)
		} else {
			t.fromStranger(h)
		}
	}
}

// malformed tells the sender what is wrong, and does nothing else whoever it is. Responses and notices get no answer, lest two sides go on for ever.
func (t *turn) malformed(h protocol.Header, err error) {
	var fault *protocol.DecodeError
	if !errors.As(err, &fault) || IsNotice(h.Type) || h.Response() {
		return
	}
	h.Station, h.Priority = t.id, min(h.Priority, protocol.MaxPriority)
	if !h.Call.Valid() {
		h.Call = protocol.NoCall
	}
	t.answer(h, fault.Message())
}

// speaks tells whether the message's association is the station's leg (R3).
func (t *turn) speaks() bool {
	if t.station == nil || !t.station.State.On() && t.station.State != LoggingOff {
		return false
	}
	return t.in.Source.Epoch == t.station.Epoch || t.without == legRule
}

// fromStranger refuses what comes on an association that is not the leg, and writes nothing. Who was logged off on it may have missed that.
func (t *turn) fromStranger(h protocol.Header) {
	cause := protocol.CauseNotLoggedOn
	if t.station != nil {
		if t.in.Source.Epoch == t.station.Epoch && !h.Response() {
			if tx := t.station.Memory.find(h.Call, h.Sequence); tx != nil && len(tx.Response) > 0 {
				t.reply(tx.Response)
				return
			}
		}
		on := t.station.State.On() || t.station.State == LoggingOff
		if on && t.in.Source.Epoch < t.station.Epoch {
			cause = protocol.CauseNewerLogon
			t.out.AbortAssociation = true
		}
	}
	if !h.Response() && h.Type != protocol.TypeError {
		t.answer(h, protocol.Error{Cause: cause})
	}
}

// fromLeg takes what the station says.
func (t *turn) fromLeg(h protocol.Header, m protocol.Message) {
	if t.station.State.On() && t.station.Profile.Barred {
		t.expel()
		t.changed = true
	}
	if t.station.State.On() {
		t.heard()
	}
	switch {
	case h.Response():
		t.response(h, m)
	case h.Type == protocol.TypeHeartbeat && t.station.State.On():
		t.answer(h, protocol.HeartbeatAck{})
	case IsNotice(h.Type) && h.Type != protocol.TypeReleaseComplete && h.Type != protocol.TypeStatus:
		// nothing to do
	case !fromStations(h.Type):
		t.answer(h, protocol.Error{Cause: protocol.CauseMessageIncompatible})
	default:
		t.transaction(h, m)
	}
}

// noted is how much of tG6 may pass before it is written down that the station was heard: not each heartbeat costs a write.
const noted = 8

// heard notes that the station is there. Any word from the leg shows that it got the confirmation, and that it is not gone.
func (t *turn) heard() {
	s := t.station
	if s.State == LoggedOn && t.now-s.Heard < t.config.Inactivity.Microseconds()/noted {
		return
	}
	t.changed = true
	before := s.State
	s.State, s.Heard, s.Sends = LoggedOn, t.now, 0
	t.arm(TimerInactivity, t.after(t.config.Inactivity))
	if before == LoggedOn {
		return
	}
	t.cancel(TimerConfirm, TimerInterrogation, TimerFade)
	if before == AwaitAck {
		t.resume()
	}
}

// fromStations tells whether stations send requests of a type.
func fromStations(m protocol.Type) bool {
	switch m { //nolint:exhaustive // the others are responses, or the gateway's, or have their place elsewhere
	case protocol.TypeLogoffRequest, protocol.TypeHeartbeat, protocol.TypeCapacityRequest, protocol.TypeCallSetup, protocol.TypeCallAlert,
		protocol.TypeCallConnect, protocol.TypeChannelStatus, protocol.TypeDisconnect, protocol.TypeRelease, protocol.TypeReleaseComplete,
		protocol.TypeReset, protocol.TypeStatusEnquiry, protocol.TypeStatus:
		return true
	default:
		return false
	}
}

// IsNotice tells whether a message that is no response is not answered (section 6.1 of docs/essp.md).
func IsNotice(m protocol.Type) bool {
	switch m { //nolint:exhaustive // the others are requests
	case protocol.TypeLogonPrompt, protocol.TypeOverload, protocol.TypeError, protocol.TypeCallProceeding, protocol.TypeCallConnectAck,
		protocol.TypeReleaseComplete, protocol.TypeStatus:
		return true
	default:
		return false
	}
}

// responds tells whether a message is a response to a request. STATUS and ERROR are to any: they tell that the station can not give it its effect.
func responds(request, response protocol.Type) bool {
	if response == protocol.TypeStatus || response == protocol.TypeError {
		return true
	}
	switch request { //nolint:exhaustive // the others are acknowledged by STATUS
	case protocol.TypeLogoffRequest:
		return response == protocol.TypeLogoffAck
	case protocol.TypeCallAnnounce, protocol.TypeRelease:
		return response == protocol.TypeReleaseComplete
	case protocol.TypeCallConnect:
		return response == protocol.TypeCallConnectAck
	case protocol.TypeChannelAssign, protocol.TypeHandover:
		return response == protocol.TypeChannelStatus
	case protocol.TypeDisconnect:
		return response == protocol.TypeRelease || response == protocol.TypeReleaseComplete
	case protocol.TypePreempt:
		return response == protocol.TypeRelease
	case protocol.TypeReset:
		return response == protocol.TypeResetAck
	default:
		return false
	}
}
