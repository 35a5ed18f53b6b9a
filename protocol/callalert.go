package protocol

// CallAlert is CALL-ALERT (section 5.19, both directions): it from the called station: its user
// is being alerted; to the calling one: the same. Answered by STATUS.
//
// It has no elements.
type CallAlert struct{}

// Type returns TypeCallAlert.
func (CallAlert) Type() Type { return TypeCallAlert }

func (CallAlert) encode(*encoder) {}
