package protocol

import "time"

// LogonReject is LOGON-REJECT (section 5.6, gateway to station): it answers LOGON-REQUEST or
// LOGON-AUTH: the station is not logged on. Whether to try again is told by the class of the
// cause.
//
//	05 04 RETRY-AFTER        optional, ms
//	85 01 CAUSE              mandatory, not 0
type LogonReject struct {
	RetryAfter time.Duration // not before, 0: the back-off of section 6.3
	Cause      Cause         // why
}

// Type returns TypeLogonReject.
func (LogonReject) Type() Type { return TypeLogonReject }

func (m LogonReject) encode(e *encoder) {
	e.duration(ElementRetryAfter, optional, m.RetryAfter)
	e.number(ElementCause, nonzero, uint64(m.Cause))
}

func decodeLogonReject(d *decoder) (m LogonReject) {
	m.RetryAfter = d.duration(ElementRetryAfter, optional)
	m.Cause = Cause(d.number(ElementCause, nonzero))

	return m
}
