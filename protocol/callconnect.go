package protocol

// CallConnect is CALL-CONNECT (section 5.20, both directions): it from the called station: its
// user answered; to the calling one: the same. Answered by CALL-CONNECT-ACK.
//
// It has no elements.
type CallConnect struct{}

// Type returns TypeCallConnect.
func (CallConnect) Type() Type { return TypeCallConnect }

func (CallConnect) encode(*encoder) {}
