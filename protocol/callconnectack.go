package protocol

// CallConnectAck is CALL-CONNECT-ACK (section 5.21, both directions): it answers CALL-CONNECT:
// the call is active on this side.
//
// It has no elements.
type CallConnectAck struct{}

// Type returns TypeCallConnectAck.
func (CallConnectAck) Type() Type { return TypeCallConnectAck }

func (CallConnectAck) encode(*encoder) {}
