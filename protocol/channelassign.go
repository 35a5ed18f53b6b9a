package protocol

import "time"

// ChannelAssign is CHANNEL-ASSIGN (section 5.22, gateway to station): it gives a station the
// channel of its side of a call. Answered by CHANNEL-STATUS once the modem has locked, or has
// not.
//
//	08 04 LOCK-TIMEOUT       optional, ms
//	89 04 CHANNEL            mandatory, not 0
type ChannelAssign struct {
	LockTimeout time.Duration // how long the modem may take (T321), 0: what the station has configured
	Channel     Channel       // which
}

// Type returns TypeChannelAssign.
func (ChannelAssign) Type() Type { return TypeChannelAssign }

func (m ChannelAssign) encode(e *encoder) {
	e.duration(ElementLockTimeout, optional, m.LockTimeout)
	e.channel(ElementChannel, nonzero, m.Channel)
}

func decodeChannelAssign(d *decoder) (m ChannelAssign) {
	m.LockTimeout = d.duration(ElementLockTimeout, optional)
	m.Channel = d.channel(ElementChannel, nonzero)

	return m
}
