package protocol

// Heartbeat is HEARTBEAT (section 5.11, both directions): it shows that the sender is there and
// asks the same of the other side. Answered by HEARTBEAT-ACK.
//
// It has no elements.
type Heartbeat struct{}

// Type returns TypeHeartbeat.
func (Heartbeat) Type() Type { return TypeHeartbeat }

func (Heartbeat) encode(*encoder) {}
