package protocol

// LogonChallenge is LOGON-CHALLENGE (section 5.2, gateway to station): it answers LOGON-REQUEST
// with the nonce that the proof is made for.
//
//	83 18 NONCE              mandatory
type LogonChallenge struct {
	Nonce [NonceSize]byte // opaque to the station; good for 60 s, once, on this association
}

// Type returns TypeLogonChallenge.
func (LogonChallenge) Type() Type { return TypeLogonChallenge }

func (m LogonChallenge) encode(e *encoder) {
	e.bytes(ElementNonce, m.Nonce[:])
}

func decodeLogonChallenge(d *decoder) (m LogonChallenge) {
	d.bytes(ElementNonce, m.Nonce[:])

	return m
}
