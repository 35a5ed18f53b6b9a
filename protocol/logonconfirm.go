package protocol

import "time"

// LogonConfirm is LOGON-CONFIRM (section 5.4, gateway to station): it answers LOGON-AUTH: the
// station is logged on, its leg is this association. The station answers it with LOGON-ACK.
//
//	02 04 HEARTBEAT-INTERVAL mandatory, not 0, ms
//	03 04 INACTIVITY         mandatory, not 0, ms
//	04 08 TIME               optional, us
type LogonConfirm struct {
	Heartbeat  time.Duration // longest silence of the station before it sends HEARTBEAT (T320)
	Inactivity time.Duration // silence after which the gateway verifies the station (tG6)
	Time       int64         // the gateway's time, microseconds since the Unix epoch; 0: not said
}

// Type returns TypeLogonConfirm.
func (LogonConfirm) Type() Type { return TypeLogonConfirm }

func (m LogonConfirm) encode(e *encoder) {
	e.duration(ElementHeartbeat, nonzero, m.Heartbeat)
	e.duration(ElementInactivity, nonzero, m.Inactivity)
	e.number(ElementTime, optional, uint64(m.Time))
}

func decodeLogonConfirm(d *decoder) (m LogonConfirm) {
	m.Heartbeat = d.duration(ElementHeartbeat, nonzero)
	m.Inactivity = d.duration(ElementInactivity, nonzero)
	m.Time = int64(d.number(ElementTime, optional))

	return m
}
