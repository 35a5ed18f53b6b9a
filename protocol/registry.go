package protocol

// entry is a cause's line in the registry (section 10).
type entry struct {
	name  string
	class Class
}

// entry returns the cause's line, the zero value when there is none.
func (c Cause) entry() entry {
	switch {
	case c < 48:
		return c.normal()
	case c < 128:
		return c.refused()
	case c < 192:
		return c.satellite()
	default:
		return c.own()
	}
}

// normal has the causes of Q.850 for normal events and unavailable resources.
func (c Cause) normal() entry {
	switch c {
	case CauseUnallocatedNumber:
		return entry{"unallocated number", Permanent}
	case CauseNoRoute:
		return entry{"no route to destination", Permanent}
	case CauseChannelUnacceptable:
		return entry{"channel unacceptable", Temporary}
	case CausePreempted:
		return entry{"pre-empted", Temporary}
	case CauseNormalClearing:
		return entry{"normal call clearing", Temporary}
	case CauseUserBusy:
		return entry{"user busy", Temporary}
	case CauseNoUserResponding:
		return entry{"no user responding", Temporary}
	case CauseNoAnswer:
		return entry{"no answer from user", Temporary}
	case CauseStationAbsent:
		return entry{"station absent", Temporary}
	case CauseCallRejected:
		return entry{"call rejected", Temporary}
	case CauseDestinationOutOfOrder:
		return entry{"destination out of order", Temporary}
	case CauseInvalidAddress:
		return entry{"invalid address", Invalid}
	case CauseResponseToEnquiry:
		return entry{"response to status enquiry", Temporary}
	case CauseNormalUnspecified:
		return entry{"normal, unspecified", Temporary}
	case CauseNoChannel:
		return entry{"no channel available", Temporary}
	case CauseNetworkOutOfOrder:
		return entry{"network out of order", Temporary}
	case CauseTemporaryFailure:
		return entry{"temporary failure", Temporary}
	case CauseCongestion:
		return entry{"switching equipment congestion", Temporary}
	case CauseChannelUnavailable:
		return entry{"requested channel not available", Temporary}
	case CausePrecedenceBlocked:
		return entry{"precedence call blocked", Temporary}
	case CauseResourceUnspecified:
		return entry{"resource unavailable, unspecified", Temporary}
	default:
		return entry{}
	}
}

// refused has the causes of Q.850 for services, invalid messages and protocol errors.
func (c Cause) refused() entry {
	switch c {
	case CauseNotSubscribed:
		return entry{"facility not subscribed", Permanent}
	case CauseOutgoingBarred:
		return entry{"outgoing calls barred", Permanent}
	case CauseIncomingBarred:
		return entry{"incoming calls barred", Permanent}
	case CauseServiceNotAuthorised:
		return entry{"service not authorised", Permanent}
	case CauseServiceNotAvailable:
		return entry{"service not presently available", Temporary}
	case CauseServiceNotImplemented:
		return entry{"service not implemented", Permanent}
	case CauseInvalidCallReference:
		return entry{"invalid call reference value", Invalid}
	case CauseChannelUnknown:
		return entry{"channel does not exist", Invalid}
	case CauseCallCleared:
		return entry{"call has been cleared", Invalid}
	case CauseIncompatibleDestination:
		return entry{"incompatible destination", Permanent}
	case CauseInvalidMessage:
		return entry{"invalid message, unspecified", Invalid}
	case CauseElementMissing:
		return entry{"mandatory element missing", Invalid}
	case CauseMessageTypeUnknown:
		return entry{"message type not implemented", Invalid}
	case CauseElementUnknown:
		return entry{"element not known", Invalid}
	case CauseElementInvalid:
		return entry{"invalid element contents", Invalid}
	case CauseMessageIncompatible:
		return entry{"message not compatible with state", Invalid}
	case CauseTimerExpiry:
		return entry{"recovery on timer expiry", Temporary}
	case CauseProtocolError:
		return entry{"protocol error, unspecified", Invalid}
	case CauseInterworking:
		return entry{"interworking, unspecified", Temporary}
	default:
		return entry{}
	}
}

// satellite has the causes of Annex 10 and of UHF DAMA.
func (c Cause) satellite() entry {
	switch c {
	case CauseTableFull:
		return entry{"log-on table full", Temporary}
	case CauseVoiceUnavailable:
		return entry{"voice type unavailable", Permanent}
	case CauseBeamNotServed:
		return entry{"beam not served", Permanent}
	case CauseFixedNetworkFailure:
		return entry{"fixed-network failure", Temporary}
	case CauseWrongSatellite:
		return entry{"wrong satellite", Invalid}
	case CauseWrongGateway:
		return entry{"wrong gateway", Invalid}
	case CauseChannelsUnavailable:
		return entry{"channels unavailable", Temporary}
	case CausePacketUnavailable:
		return entry{"packet service unavailable", Temporary}
	case CauseServicesUnavailable:
		return entry{"neither voice nor packet service available", Temporary}
	case CauseLogonRejected:
		return entry{"log-on rejected, other", Temporary}
	case CauseStationNotAuthorised:
		return entry{"station not authorised", Permanent}
	case CauseContinuityFailure:
		return entry{"continuity failure", Temporary}
	case CauseBeamHandover:
		return entry{"beam handover", Temporary}
	case CauseNoUnit:
		return entry{"no channel unit available", Temporary}
	case CauseAlreadyConnected:
		return entry{"already connected", Temporary}
	case CauseCancelledByUser:
		return entry{"cancelled by user", Temporary}
	case CauseQueueTimeout:
		return entry{"queue time-out", Temporary}
	case CauseUnknownTerminal:
		return entry{"unknown terminal", Permanent}
	case CauseQueueFull:
		return entry{"queue full", Temporary}
	case CauseNoLongerPossible:
		return entry{"connection no longer possible", Temporary}
	default:
		return entry{}
	}
}

// own has ESSP's own causes.
func (c Cause) own() entry {
	switch c {
	case CauseNotLoggedOn:
		return entry{"not logged on", Temporary}
	case CauseNewerLogon:
		return entry{"newer log-on elsewhere", Temporary}
	case CauseProofInvalid:
		return entry{"proof invalid", Permanent}
	case CauseNonceExpired:
		return entry{"nonce expired", Temporary}
	case CauseNonceReplayed:
		return entry{"nonce replayed", Temporary}
	case CauseStationBarred:
		return entry{"station barred", Permanent}
	case CauseInactivity:
		return entry{"station silent", Temporary}
	case CauseStationRestart:
		return entry{"station restarted", Temporary}
	case CauseStayAway:
		return entry{"told to stay away", Temporary}
	case CauseFade:
		return entry{"signal faded", Temporary}
	case CauseCallLimit:
		return entry{"too many calls at once", Temporary}
	case CausePriorityTooHigh:
		return entry{"priority higher than allowed", Permanent}
	case CauseOverload:
		return entry{"overload", Temporary}
	case CauseOperator:
		return entry{"cleared by operator", Temporary}
	case CauseVersion:
		return entry{"version not supported", Invalid}
	case CauseStateLost:
		return entry{"gateway lost the state", Temporary}
	case CauseTransactionOld:
		return entry{"transaction too old", Invalid}
	case CauseGlare:
		return entry{"glare, the other call goes on", Temporary}
	default:
		return entry{}
	}
}
