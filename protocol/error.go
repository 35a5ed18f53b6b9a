package protocol

// Error is ERROR (section 5.34, both directions): it tells that a message was not understood or
// is not allowed. It never answers an ERROR.
//
//	0b 01 ERROR-ELEMENT      optional
//	0c 02 ERROR-OFFSET       optional
//	85 01 CAUSE              mandatory, not 0
type Error struct {
	Element Element // which element, 0: the header
	Offset  uint16  // where in the message, in bytes
	Cause   Cause   // why
}

// Type returns TypeError.
func (Error) Type() Type { return TypeError }

func (m Error) encode(e *encoder) {
	e.number(ElementErrorElement, optional, uint64(m.Element))
	e.number(ElementErrorOffset, optional, uint64(m.Offset))
	e.number(ElementCause, nonzero, uint64(m.Cause))
}

func decodeError(d *decoder) (m Error) {
	m.Element = Element(d.number(ElementErrorElement, optional))
	m.Offset = uint16(d.number(ElementErrorOffset, optional))
	m.Cause = Cause(d.number(ElementCause, nonzero))

	return m
}
