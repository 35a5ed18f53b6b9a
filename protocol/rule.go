package protocol

// callRule says which call references a message may have.
type callRule uint8

const (
	callUnknown callRule = iota // there is no such message
	callNone                    // none
	callStation                 // one that the station chose
	callGateway                 // one that the gateway chose
	callAny                     // one
	callOption                  // one or none
)

func (r callRule) allows(c CallReference) bool {
	switch r {
	case callNone:
		return c == NoCall
	case callStation:
		return c.Valid() && !c.FromGateway()
	case callGateway:
		return c.Valid() && c.FromGateway()
	case callAny:
		return c.Valid()
	case callOption:
		return c == NoCall || c.Valid()
	case callUnknown:
		return false
	default:
		return false
	}
}

// responseRule says whether a message is a response.
type responseRule uint8

const (
	responseNever responseRule = iota
	responseAlways
	responseEither
)

// rule is what the header of a message may be (section 5).
type rule struct {
	call     callRule
	response responseRule
	notice   bool // station 0 and sequence 0 are allowed
}

// rule returns the rule of a message.
func (t Type) rule() rule {
	switch t {
	case TypeLogonRequest, TypeLogonAuth, TypeLogonInterrogate, TypeLogoffRequest, TypeHeartbeat, TypeCapacityRequest:
		return rule{callNone, responseNever, false}
	case TypeLogonChallenge, TypeLogonConfirm, TypeLogonAck, TypeLogonReject, TypeLogoffAck, TypeHeartbeatAck:
		return rule{callNone, responseAlways, false}
	case TypeLogonPrompt:
		return rule{callNone, responseNever, true}
	case TypeCapacityGrant:
		return rule{callNone, responseEither, false}
	case TypeCallSetup:
		return rule{callStation, responseNever, false}
	case TypeCallProceeding:
		return rule{callStation, responseEither, false}
	case TypeCallAnnounce:
		return rule{callGateway, responseNever, false}
	case TypeCallQueued, TypeCallAlert, TypeCallConnect, TypeChannelAssign, TypeDisconnect, TypePreempt:
		return rule{callAny, responseNever, false}
	case TypeCallConnectAck, TypeChannelStatus, TypeRelease, TypeReleaseComplete:
		return rule{callAny, responseEither, false}
	case TypeHandover, TypeReset, TypeStatusEnquiry:
		return rule{callOption, responseNever, false}
	case TypeOverload, TypeError:
		return rule{callOption, responseEither, true}
	case TypeResetAck:
		return rule{callOption, responseAlways, false}
	case TypeStatus:
		return rule{callOption, responseEither, false}
	default:
		return rule{}
	}
}
