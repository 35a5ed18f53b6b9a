package protocol

// Disconnect is DISCONNECT (section 5.24, both directions): it begins to clear a call. Answered
// by RELEASE.
//
//	85 01 CAUSE              mandatory, not 0
type Disconnect struct {
	Cause Cause // why
}

// Type returns TypeDisconnect.
func (Disconnect) Type() Type { return TypeDisconnect }

func (m Disconnect) encode(e *encoder) {
	e.number(ElementCause, nonzero, uint64(m.Cause))
}

func decodeDisconnect(d *decoder) (m Disconnect) {
	m.Cause = Cause(d.number(ElementCause, nonzero))

	return m
}
