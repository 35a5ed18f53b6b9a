package protocol

// LogonAuth is LOGON-AUTH (section 5.3, station to gateway): it proves that the station has its
// key and logs it on. Answered by LOGON-CONFIRM or LOGON-REJECT. It also answers
// LOGON-INTERROGATE, with that nonce.
//
//	81 08 BOOT-NONCE         mandatory, not 0
//	82 02 BEAM               mandatory
//	83 18 NONCE              mandatory
//	84 20 PROOF              mandatory
type LogonAuth struct {
	BootNonce uint64          // as in LOGON-REQUEST
	Beam      Beam            // beam the station is in
	Nonce     [NonceSize]byte // of the challenge
	Proof     [ProofSize]byte // LogonProof
}

// Type returns TypeLogonAuth.
func (LogonAuth) Type() Type { return TypeLogonAuth }

func (m LogonAuth) encode(e *encoder) {
	e.number(ElementBootNonce, nonzero, m.BootNonce)
	e.number(ElementBeam, mandatory, uint64(m.Beam))
	e.bytes(ElementNonce, m.Nonce[:])
	e.bytes(ElementProof, m.Proof[:])
}

func decodeLogonAuth(d *decoder) (m LogonAuth) {
	m.BootNonce = d.number(ElementBootNonce, nonzero)
	m.Beam = Beam(d.number(ElementBeam, mandatory))
	d.bytes(ElementNonce, m.Nonce[:])
	d.bytes(ElementProof, m.Proof[:])

	return m
}
