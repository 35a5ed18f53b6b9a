package protocol

// LogonAck is LOGON-ACK (section 5.5, station to gateway): it answers LOGON-CONFIRM, with the
// sequence of the LOGON-AUTH. Until it, the gateway repeats the confirmation (tA12).
//
// It has no elements.
type LogonAck struct{}

// Type returns TypeLogonAck.
func (LogonAck) Type() Type { return TypeLogonAck }

func (LogonAck) encode(*encoder) {}
