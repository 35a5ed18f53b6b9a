package protocol

import "time"

// LogoffRequest is LOGOFF-REQUEST (section 5.9, both directions): it ends a log-on and all calls
// of the station. Answered by LOGOFF-ACK.
//
//	06 04 STAY-AWAY          optional, ms
//	85 01 CAUSE              mandatory, not 0
type LogoffRequest struct {
	StayAway time.Duration // from a gateway: how long not to log on again; ignored in emergency and distress
	Cause    Cause         // why
}

// Type returns TypeLogoffRequest.
func (LogoffRequest) Type() Type { return TypeLogoffRequest }

func (m LogoffRequest) encode(e *encoder) {
	e.duration(ElementStayAway, optional, m.StayAway)
	e.number(ElementCause, nonzero, uint64(m.Cause))
}

func decodeLogoffRequest(d *decoder) (m LogoffRequest) {
	m.StayAway = d.duration(ElementStayAway, optional)
	m.Cause = Cause(d.number(ElementCause, nonzero))

	return m
}
