package client

import "skyring/protocol"

// answers tells whether a message is a response to a request (section 5). ERROR is to any,
// STATUS to any about a call, OVERLOAD to what a gateway sheds (section 12).
func answers(request, response protocol.Message) bool {
	switch response := response.(type) {
	case protocol.Error:
		return true
	case protocol.Overload:
		return is[protocol.LogonRequest](request) || is[protocol.LogonAuth](request) || is[protocol.CallSetup](request)
	case protocol.Status:
		return !aboutStation(request) && ends(request, response.State)
	}

	switch request.(type) {
	case protocol.LogonRequest:
		return is[protocol.LogonChallenge](response) || is[protocol.LogonReject](response)
	case protocol.LogonAuth:
		return is[protocol.LogonConfirm](response) || is[protocol.LogonReject](response)
	case protocol.LogoffRequest:
		return is[protocol.LogoffAck](response)
	case protocol.Heartbeat:
		return is[protocol.HeartbeatAck](response)
	case protocol.CallSetup:
		return is[protocol.CallProceeding](response) || is[protocol.ReleaseComplete](response)
	case protocol.CallConnect:
		return is[protocol.CallConnectAck](response)
	case protocol.Disconnect:
		return is[protocol.Release](response) || is[protocol.ReleaseComplete](response)
	case protocol.Release:
		return is[protocol.ReleaseComplete](response)
	default: // the others are answered by STATUS
		return false
	}
}

// ends tells whether STATUS with a state ends the waiting for the answer to a request about
// a call. Where the call has not come to what was asked for, it goes on.
func ends(request protocol.Message, state protocol.CallState) bool {
	switch request.(type) {
	case protocol.CallConnect:
		return state == protocol.StateActive || state == protocol.StateIdle
	case protocol.Release:
		return state == protocol.StateIdle
	default:
		return true
	}
}

// aboutStation tells whether a request of a station is about no call.
func aboutStation(request protocol.Message) bool {
	switch request.(type) {
	case protocol.LogonRequest, protocol.LogonAuth, protocol.LogoffRequest, protocol.Heartbeat:
		return true
	default:
		return false
	}
}

// is tells whether a message is of a type.
func is[T protocol.Message](m protocol.Message) bool {
	_, ok := m.(T)

	return ok
}
