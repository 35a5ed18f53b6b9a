package protocol

// HeartbeatAck is HEARTBEAT-ACK (section 5.12, both directions): it answers HEARTBEAT.
//
// It has no elements.
type HeartbeatAck struct{}

// Type returns TypeHeartbeatAck.
func (HeartbeatAck) Type() Type { return TypeHeartbeatAck }

func (HeartbeatAck) encode(*encoder) {}
