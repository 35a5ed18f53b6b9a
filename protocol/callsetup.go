package protocol

// CallSetup is CALL-SETUP (section 5.15, station to gateway): it asks for a call to another
// station. Answered by CALL-PROCEEDING, RELEASE-COMPLETE, ERROR or OVERLOAD.
//
//	86 08 CALLED             mandatory, not 0
//	88 01 SERVICE            mandatory
type CallSetup struct {
	Called  StationID // whom
	Service uint8     // what for: Service constants, or a number of the operator
}

// Type returns TypeCallSetup.
func (CallSetup) Type() Type { return TypeCallSetup }

func (m CallSetup) encode(e *encoder) {
	e.number(ElementCalled, nonzero, uint64(m.Called))
	e.number(ElementService, mandatory, uint64(m.Service))
}

func decodeCallSetup(d *decoder) (m CallSetup) {
	m.Called = StationID(d.number(ElementCalled, nonzero))
	m.Service = uint8(d.number(ElementService, mandatory))

	return m
}
