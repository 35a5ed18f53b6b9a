package protocol

// Status is STATUS (section 5.33, both directions): it tells the state of a call. It answers
// STATUS-ENQUIRY, and each request that has no other answer.
//
//	0a 01 CALL-STATE         mandatory
//	85 01 CAUSE              optional
type Status struct {
	State CallState // of the sender; StateIdle where there is no call
	Cause Cause     // why it is sent, 0: it acknowledges
}

// Type returns TypeStatus.
func (Status) Type() Type { return TypeStatus }

func (m Status) encode(e *encoder) {
	e.number(ElementCallState, mandatory, uint64(m.State))
	e.number(ElementCause, optional, uint64(m.Cause))
}

func decodeStatus(d *decoder) (m Status) {
	m.State = CallState(d.number(ElementCallState, mandatory))
	m.Cause = Cause(d.number(ElementCause, optional))

	return m
}
