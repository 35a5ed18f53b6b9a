package protocol

// LogonRequest is LOGON-REQUEST (section 5.1, station to gateway): it asks for a challenge, the
// first step of a log-on. Nothing comes of it but the answer: LOGON-CHALLENGE, LOGON-REJECT or
// OVERLOAD.
//
//	01 01 CLASS              optional
//	81 08 BOOT-NONCE         mandatory, not 0
//	82 02 BEAM               mandatory
type LogonRequest struct {
	Class     uint8  // class of the terminal, 0: not said; the station table has the one that counts
	BootNonce uint64 // drawn at random at each start of the station
	Beam      Beam   // beam the station is in
}

// Type returns TypeLogonRequest.
func (LogonRequest) Type() Type { return TypeLogonRequest }

func (m LogonRequest) encode(e *encoder) {
	e.number(ElementClass, optional, uint64(m.Class))
	e.number(ElementBootNonce, nonzero, m.BootNonce)
	e.number(ElementBeam, mandatory, uint64(m.Beam))
}

func decodeLogonRequest(d *decoder) (m LogonRequest) {
	m.Class = uint8(d.number(ElementClass, optional))
	m.BootNonce = d.number(ElementBootNonce, nonzero)
	m.Beam = Beam(d.number(ElementBeam, mandatory))

	return m
}
