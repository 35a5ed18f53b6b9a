package protocol

// Handover is HANDOVER (section 5.28, gateway to station): it moves a station, or one call of it,
// to another beam. Answered by CHANNEL-STATUS for a call, by STATUS for the station. Specified,
// not used by this version of the gateway.
//
//	82 02 BEAM               mandatory
//	89 04 CHANNEL            optional
type Handover struct {
	Beam    Beam    // the new beam
	Channel Channel // channel of the call there; the zero value: none
}

// Type returns TypeHandover.
func (Handover) Type() Type { return TypeHandover }

func (m Handover) encode(e *encoder) {
	e.number(ElementBeam, mandatory, uint64(m.Beam))
	e.channel(ElementChannel, optional, m.Channel)
}

func decodeHandover(d *decoder) (m Handover) {
	m.Beam = Beam(d.number(ElementBeam, mandatory))
	m.Channel = d.channel(ElementChannel, optional)

	return m
}
