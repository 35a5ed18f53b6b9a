package protocol

import "strconv"

// Cause is why something was refused, ended or not understood (section 10): 1 to 127 are
// ITU-T Q.850's, 128 to 143 the log-on reject reasons of ICAO Annex 10 (128 + reason),
// 144 to 159 its call causes that Q.850 has none for, 170 to 175 those of UHF DAMA (96 +
// code), and from 192 on ESSP's own. 0 is none. Any number may arrive: those that are not
// in the registry have the class of their range.
type Cause uint8

// Causes of ITU-T Q.850.
const (
	CauseUnallocatedNumber       Cause = 1
	CauseNoRoute                 Cause = 3
	CauseChannelUnacceptable     Cause = 6
	CausePreempted               Cause = 8
	CauseNormalClearing          Cause = 16
	CauseUserBusy                Cause = 17
	CauseNoUserResponding        Cause = 18
	CauseNoAnswer                Cause = 19
	CauseStationAbsent           Cause = 20
	CauseCallRejected            Cause = 21
	CauseDestinationOutOfOrder   Cause = 27
	CauseInvalidAddress          Cause = 28
	CauseResponseToEnquiry       Cause = 30
	CauseNormalUnspecified       Cause = 31
	CauseNoChannel               Cause = 34
	CauseNetworkOutOfOrder       Cause = 38
	CauseTemporaryFailure        Cause = 41
	CauseCongestion              Cause = 42
	CauseChannelUnavailable      Cause = 44
	CausePrecedenceBlocked       Cause = 46
	CauseResourceUnspecified     Cause = 47
	CauseNotSubscribed           Cause = 50
	CauseOutgoingBarred          Cause = 53
	CauseIncomingBarred          Cause = 55
	CauseServiceNotAuthorised    Cause = 57
	CauseServiceNotAvailable     Cause = 58
	CauseServiceNotImplemented   Cause = 79
	CauseInvalidCallReference    Cause = 81
	CauseChannelUnknown          Cause = 82
	CauseCallCleared             Cause = 86
	CauseIncompatibleDestination Cause = 88
	CauseInvalidMessage          Cause = 95
	CauseElementMissing          Cause = 96
	CauseMessageTypeUnknown      Cause = 97
	CauseElementUnknown          Cause = 99
	CauseElementInvalid          Cause = 100
	CauseMessageIncompatible     Cause = 101
	CauseTimerExpiry             Cause = 102
	CauseProtocolError           Cause = 111
	CauseInterworking            Cause = 127
)

// Causes of log-on rejects in ICAO Annex 10 Volume III: 128 + the reason there.
const (
	CauseTableFull            Cause = 128
	CauseVoiceUnavailable     Cause = 129
	CauseBeamNotServed        Cause = 130
	CauseFixedNetworkFailure  Cause = 131
	CauseWrongSatellite       Cause = 133
	CauseWrongGateway         Cause = 134
	CauseChannelsUnavailable  Cause = 135
	CausePacketUnavailable    Cause = 136
	CauseServicesUnavailable  Cause = 138
	CauseLogonRejected        Cause = 142
	CauseStationNotAuthorised Cause = 143
)

// Causes of calls in ICAO Annex 10 Volume III that Q.850 has none for.
const (
	CauseContinuityFailure Cause = 144
	CauseBeamHandover      Cause = 145
	CauseNoUnit            Cause = 146
)

// Causes of UHF DAMA: 96 + the code there.
const (
	CauseAlreadyConnected Cause = 170
	CauseCancelledByUser  Cause = 171
	CauseQueueTimeout     Cause = 172
	CauseUnknownTerminal  Cause = 173
	CauseQueueFull        Cause = 174
	CauseNoLongerPossible Cause = 175
)

// Causes of ESSP's own.
const (
	CauseNotLoggedOn     Cause = 192
	CauseNewerLogon      Cause = 193
	CauseProofInvalid    Cause = 194
	CauseNonceExpired    Cause = 195
	CauseNonceReplayed   Cause = 196
	CauseStationBarred   Cause = 197
	CauseInactivity      Cause = 198
	CauseStationRestart  Cause = 199
	CauseStayAway        Cause = 200
	CauseFade            Cause = 201
	CauseCallLimit       Cause = 202
	CausePriorityTooHigh Cause = 203
	CauseOverload        Cause = 204
	CauseOperator        Cause = 205
	CauseVersion         Cause = 206
	CauseStateLost       Cause = 207
	CauseTransactionOld  Cause = 208
	CauseGlare           Cause = 209
)

// Class says whether what was refused may be tried again.
type Class uint8

const (
	// Temporary says that the same may be tried again, after the back-off.
	Temporary Class = iota + 1
	// Permanent says not to try before a person changed something, or the station restarted.
	Permanent
	// Invalid says that the request itself is wrong and will always be.
	Invalid
)

// String returns "temporary", "permanent" or "invalid".
func (c Class) String() string {
	switch c {
	case Temporary:
		return "temporary"
	case Permanent:
		return "permanent"
	case Invalid:
		return "invalid"
	default:
		return "class " + strconv.Itoa(int(c))
	}
}

// String returns the name of the cause, or its number where it has none.
func (c Cause) String() string {
	if e := c.entry(); e.name != "" {
		return e.name
	}

	return "cause " + strconv.Itoa(int(c))
}

// Known tells whether the cause is in the registry.
func (c Cause) Known() bool { return c.entry().name != "" }

// Source names the document whose cause it is.
func (c Cause) Source() string {
	switch {
	case c < 128:
		return "Q.850"
	case c < 160:
		return "Annex 10"
	case c < 192:
		return "UHF DAMA"
	default:
		return "ESSP"
	}
}

// Class returns the class of the cause. One that is not in the registry has the class of
// its range: Q.850's ranges for its own, Temporary above.
func (c Cause) Class() Class {
	if e := c.entry(); e.name != "" {
		return e.class
	}

	switch {
	case c >= 48 && c <= 79: // service or option not available, not implemented
		return Permanent
	case c >= 80 && c <= 111: // invalid message, protocol error
		return Invalid
	default:
		return Temporary
	}
}

// Causes returns all causes of the registry in ascending order.
func Causes() []Cause {
	var all []Cause

	for n := range 256 {
		if c := Cause(n); c.Known() { //nolint:gosec // 0 to 255
			all = append(all, c)
		}
	}

	return all
}
