package protocol

// Preempt is PREEMPT (section 5.27, gateway to station): it takes the channel of a call for one
// of higher priority. Answered by RELEASE. Specified, not used by this version of the gateway.
//
//	85 01 CAUSE              mandatory, not 0
//	8b 01 PRIORITY           mandatory
type Preempt struct {
	Cause    Cause    // why
	Priority Priority // of the call that gets the channel
}

// Type returns TypePreempt.
func (Preempt) Type() Type { return TypePreempt }

func (m Preempt) encode(e *encoder) {
	e.number(ElementCause, nonzero, uint64(m.Cause))
	e.number(ElementPriority, mandatory, uint64(m.Priority))
}

func decodePreempt(d *decoder) (m Preempt) {
	m.Cause = Cause(d.number(ElementCause, nonzero))
	m.Priority = Priority(d.number(ElementPriority, mandatory))

	return m
}
