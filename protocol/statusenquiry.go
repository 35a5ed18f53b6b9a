package protocol

// StatusEnquiry is STATUS-ENQUIRY (section 5.32, both directions): it asks in which state the
// other side has a call, or whether it knows the station as logged on. Answered by STATUS.
//
// It has no elements.
type StatusEnquiry struct{}

// Type returns TypeStatusEnquiry.
func (StatusEnquiry) Type() Type { return TypeStatusEnquiry }

func (StatusEnquiry) encode(*encoder) {}
