package call_test

import (
	"time"

	"skyring/protocol"
)

// types are all types of ESSP messages.
func types() []protocol.Type {
	var all []protocol.Type
	for n := range 256 {
		if typ := protocol.Type(n); sample(typ) != nil {
			all = append(all, typ)
		}
	}
	return all
}

// sample is a message of a type; nil: there is no such type.
func sample(typ protocol.Type) protocol.Message { //nolint:ireturn // which of them it is, is the question
	for _, m := range samples() {
		if m.Type() == typ {
			return m
		}
	}
	return nil
}

func samples() []protocol.Message {
	return []protocol.Message{
		protocol.LogonRequest{BootNonce: 1, Beam: 1},
		protocol.LogonChallenge{},
		protocol.LogonAuth{BootNonce: 1, Beam: 1},
		protocol.LogonConfirm{Heartbeat: time.Second, Inactivity: time.Second, Time: 1},
		protocol.LogonAck{},
		protocol.LogonReject{Cause: protocol.CauseTableFull},
		protocol.LogonPrompt{},
		protocol.LogonInterrogate{},
		protocol.LogoffRequest{Cause: protocol.CauseNormalUnspecified},
		protocol.LogoffAck{},
		protocol.Heartbeat{},
		protocol.HeartbeatAck{},
		protocol.CapacityRequest{},
		protocol.CapacityGrant{},
		protocol.CallSetup{Called: stationB, Service: protocol.ServiceVoice},
		protocol.CallProceeding{},
		protocol.CallAnnounce{Calling: stationA, Service: protocol.ServiceVoice},
		protocol.CallQueued{Position: 1},
		protocol.CallAlert{},
		protocol.CallConnect{},
		protocol.CallConnectAck{},
		protocol.ChannelAssign{Channel: protocol.Channel{Beam: 1, Number: 1}},
		protocol.ChannelStatus{Locked: true},
		protocol.Disconnect{Cause: protocol.CauseNormalClearing},
		protocol.Release{Cause: protocol.CauseNormalClearing},
		protocol.ReleaseComplete{Cause: protocol.CauseUserBusy},
		protocol.Preempt{Cause: protocol.CausePreempted, Priority: 1},
		protocol.Handover{Beam: 1},
		protocol.Overload{Level: 1},
		protocol.Reset{Cause: protocol.CauseStateLost},
		protocol.ResetAck{},
		protocol.StatusEnquiry{},
		protocol.Status{State: protocol.StateActive},
		protocol.Error{Cause: protocol.CauseInvalidMessage},
	}
}
