package protocol

// ReleaseComplete is RELEASE-COMPLETE (section 5.26, both directions): it ends a call reference:
// it may be used again. Also refuses CALL-SETUP and CALL-ANNOUNCE.
//
//	85 01 CAUSE              optional
type ReleaseComplete struct {
	Cause Cause // why, 0 only when the cause was told before
}

// Type returns TypeReleaseComplete.
func (ReleaseComplete) Type() Type { return TypeReleaseComplete }

func (m ReleaseComplete) encode(e *encoder) {
	e.number(ElementCause, optional, uint64(m.Cause))
}

func decodeReleaseComplete(d *decoder) (m ReleaseComplete) {
	m.Cause = Cause(d.number(ElementCause, optional))

	return m
}
