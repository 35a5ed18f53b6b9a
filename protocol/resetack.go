package protocol

// ResetAck is RESET-ACK (section 5.31, both directions): it answers RESET: the calls are gone.
//
// It has no elements.
type ResetAck struct{}

// Type returns TypeResetAck.
func (ResetAck) Type() Type { return TypeResetAck }

func (ResetAck) encode(*encoder) {}
