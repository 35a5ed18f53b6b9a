package protocol

// CallAnnounce is CALL-ANNOUNCE (section 5.17, gateway to station): it offers a call to the
// called station. Answered by STATUS when the station takes it, or by RELEASE-COMPLETE with the
// cause.
//
//	87 08 CALLING            mandatory, not 0
//	88 01 SERVICE            mandatory
type CallAnnounce struct {
	Calling StationID // who calls
	Service uint8     // as in CALL-SETUP
}

// Type returns TypeCallAnnounce.
func (CallAnnounce) Type() Type { return TypeCallAnnounce }

func (m CallAnnounce) encode(e *encoder) {
	e.number(ElementCalling, nonzero, uint64(m.Calling))
	e.number(ElementService, mandatory, uint64(m.Service))
}

func decodeCallAnnounce(d *decoder) (m CallAnnounce) {
	m.Calling = StationID(d.number(ElementCalling, nonzero))
	m.Service = uint8(d.number(ElementService, mandatory))

	return m
}
