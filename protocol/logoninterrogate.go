package protocol

// LogonInterrogate is LOGON-INTERROGATE (section 5.8, gateway to station): it asks a station to
// prove anew who it is. Answered by LOGON-AUTH with its nonce, which is a request of the station.
//
//	83 18 NONCE              mandatory
type LogonInterrogate struct {
	Nonce [NonceSize]byte // as in LOGON-CHALLENGE
}

// Type returns TypeLogonInterrogate.
func (LogonInterrogate) Type() Type { return TypeLogonInterrogate }

func (m LogonInterrogate) encode(e *encoder) {
	e.bytes(ElementNonce, m.Nonce[:])
}

func decodeLogonInterrogate(d *decoder) (m LogonInterrogate) {
	d.bytes(ElementNonce, m.Nonce[:])

	return m
}
