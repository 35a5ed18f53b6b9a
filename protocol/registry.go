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
	table := [...]entry{
		CauseUnallocatedNumber:     {"unallocated number", Permanent},
		CauseNoRoute:               {"no route to destination", Permanent},
		CauseChannelUnacceptable:   {"channel unacceptable", Temporary},
		CausePreempted:             {"pre-empted", Temporary},
		CauseNormalClearing:        {"normal call clearing", Temporary},
		CauseUserBusy:              {"user busy", Temporary},
		CauseNoUserResponding:      {"no user responding", Temporary},
		CauseNoAnswer:              {"no answer from user", Temporary},
		CauseStationAbsent:         {"station absent", Temporary},
		CauseCallRejected:          {"call rejected", Temporary},
		CauseDestinationOutOfOrder: {"destination out of order", Temporary},
		CauseInvalidAddress:        {"invalid address", Invalid},
		CauseResponseToEnquiry:     {"response to status enquiry", Temporary},
		CauseNormalUnspecified:     {"normal, unspecified", Temporary},
		CauseNoChannel:             {"no channel available", Temporary},
		CauseNetworkOutOfOrder:     {"network out of order", Temporary},
		CauseTemporaryFailure:      {"temporary failure", Temporary},
		CauseCongestion:            {"switching equipment congestion", Temporary},
		CauseChannelUnavailable:    {"requested channel not available", Temporary},
		CausePrecedenceBlocked:     {"precedence call blocked", Temporary},
		CauseResourceUnspecified:   {"resource unavailable, unspecified", Temporary},
	}
	if int(c) >= len(table) {
		return entry{}
	}

	return table[c]
}

// refused has the causes of Q.850 for services, invalid messages and protocol errors.
func (c Cause) refused() entry {
	table := [...]entry{
		CauseNotSubscribed - 48:           {"facility not subscribed", Permanent},
		CauseOutgoingBarred - 48:          {"outgoing calls barred", Permanent},
		CauseIncomingBarred - 48:          {"incoming calls barred", Permanent},
		CauseServiceNotAuthorised - 48:    {"service not authorised", Permanent},
		CauseServiceNotAvailable - 48:     {"service not presently available", Temporary},
		CauseServiceNotImplemented - 48:   {"service not implemented", Permanent},
		CauseInvalidCallReference - 48:    {"invalid call reference value", Invalid},
		CauseChannelUnknown - 48:          {"channel does not exist", Invalid},
		CauseCallCleared - 48:             {"call has been cleared", Invalid},
		CauseIncompatibleDestination - 48: {"incompatible destination", Permanent},
		CauseInvalidMessage - 48:          {"invalid message, unspecified", Invalid},
		CauseElementMissing - 48:          {"mandatory element missing", Invalid},
		CauseMessageTypeUnknown - 48:      {"message type not implemented", Invalid},
		CauseElementUnknown - 48:          {"element not known", Invalid},
		CauseElementInvalid - 48:          {"invalid element contents", Invalid},
		CauseMessageIncompatible - 48:     {"message not compatible with state", Invalid},
		CauseTimerExpiry - 48:             {"recovery on timer expiry", Temporary},
		CauseProtocolError - 48:           {"protocol error, unspecified", Invalid},
		CauseInterworking - 48:            {"interworking, unspecified", Temporary},
	}
	if int(c-48) >= len(table) {
		return entry{}
	}

	return table[c-48]
}

// satellite has the causes of Annex 10 and of UHF DAMA.
func (c Cause) satellite() entry {
	table := [...]entry{
		CauseTableFull - 128:            {"log-on table full", Temporary},
		CauseVoiceUnavailable - 128:     {"voice type unavailable", Permanent},
		CauseBeamNotServed - 128:        {"beam not served", Permanent},
		CauseFixedNetworkFailure - 128:  {"fixed-network failure", Temporary},
		CauseWrongSatellite - 128:       {"wrong satellite", Invalid},
		CauseWrongGateway - 128:         {"wrong gateway", Invalid},
		CauseChannelsUnavailable - 128:  {"channels unavailable", Temporary},
		CausePacketUnavailable - 128:    {"packet service unavailable", Temporary},
		CauseServicesUnavailable - 128:  {"neither voice nor packet service available", Temporary},
		CauseLogonRejected - 128:        {"log-on rejected, other", Temporary},
		CauseStationNotAuthorised - 128: {"station not authorised", Permanent},
		CauseContinuityFailure - 128:    {"continuity failure", Temporary},
		CauseBeamHandover - 128:         {"beam handover", Temporary},
		CauseNoUnit - 128:               {"no channel unit available", Temporary},
		CauseAlreadyConnected - 128:     {"already connected", Temporary},
		CauseCancelledByUser - 128:      {"cancelled by user", Temporary},
		CauseQueueTimeout - 128:         {"queue time-out", Temporary},
		CauseUnknownTerminal - 128:      {"unknown terminal", Permanent},
		CauseQueueFull - 128:            {"queue full", Temporary},
		CauseNoLongerPossible - 128:     {"connection no longer possible", Temporary},
	}
	if int(c-128) >= len(table) {
		return entry{}
	}

	return table[c-128]
}

// own has ESSP's own causes.
func (c Cause) own() entry {
	table := [...]entry{
		CauseNotLoggedOn - 192:     {"not logged on", Temporary},
		CauseNewerLogon - 192:      {"newer log-on elsewhere", Temporary},
		CauseProofInvalid - 192:    {"proof invalid", Permanent},
		CauseNonceExpired - 192:    {"nonce expired", Temporary},
		CauseNonceReplayed - 192:   {"nonce replayed", Temporary},
		CauseStationBarred - 192:   {"station barred", Permanent},
		CauseInactivity - 192:      {"station silent", Temporary},
		CauseStationRestart - 192:  {"station restarted", Temporary},
		CauseStayAway - 192:        {"told to stay away", Temporary},
		CauseFade - 192:            {"signal faded", Temporary},
		CauseCallLimit - 192:       {"too many calls at once", Temporary},
		CausePriorityTooHigh - 192: {"priority higher than allowed", Permanent},
		CauseOverload - 192:        {"overload", Temporary},
		CauseOperator - 192:        {"cleared by operator", Temporary},
		CauseVersion - 192:         {"version not supported", Invalid},
		CauseStateLost - 192:       {"gateway lost the state", Temporary},
		CauseTransactionOld - 192:  {"transaction too old", Invalid},
		CauseGlare - 192:           {"glare, the other call goes on", Temporary},
	}
	if int(c-192) >= len(table) {
		return entry{}
	}

	return table[c-192]
}
