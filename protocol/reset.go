package protocol

// Reset is RESET (section 5.30, both directions): it clears the call of its reference, or all
// calls of the station, without a word more: the two sides disagree. Answered by RESET-ACK.
//
//	85 01 CAUSE              mandatory, not 0
type Reset struct {
	Cause Cause // why
}

// Type returns TypeReset.
func (Reset) Type() Type { return TypeReset }

func (m Reset) encode(e *encoder) {
	e.number(ElementCause, nonzero, uint64(m.Cause))
}

func decodeReset(d *decoder) (m Reset) {
	m.Cause = Cause(d.number(ElementCause, nonzero))

	return m
}
