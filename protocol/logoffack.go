package protocol

// LogoffAck is LOGOFF-ACK (section 5.10, both directions): it answers LOGOFF-REQUEST.
//
// It has no elements.
type LogoffAck struct{}

// Type returns TypeLogoffAck.
func (LogoffAck) Type() Type { return TypeLogoffAck }

func (LogoffAck) encode(*encoder) {}
