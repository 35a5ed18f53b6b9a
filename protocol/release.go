package protocol

// Release is RELEASE (section 5.25, both directions): it answers DISCONNECT: the sender let go of
// the channel. Not as a response: clears a call in one step. Answered by RELEASE-COMPLETE.
//
//	85 01 CAUSE              optional
type Release struct {
	Cause Cause // why, 0 only when it answers DISCONNECT
}

// Type returns TypeRelease.
func (Release) Type() Type { return TypeRelease }

func (m Release) encode(e *encoder) {
	e.number(ElementCause, optional, uint64(m.Cause))
}

func decodeRelease(d *decoder) (m Release) {
	m.Cause = Cause(d.number(ElementCause, optional))

	return m
}
