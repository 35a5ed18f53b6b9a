package protocol

// ChannelStatus is CHANNEL-STATUS (section 5.23, station to gateway): it answers CHANNEL-ASSIGN
// and HANDOVER. Not as a response: the lock was lost or came back, answered by STATUS.
//
//	85 01 CAUSE              optional
//	8a 01 LOCKED             mandatory
type ChannelStatus struct {
	Cause  Cause // why it has no lock
	Locked bool  // the modem has the channel
}

// Type returns TypeChannelStatus.
func (ChannelStatus) Type() Type { return TypeChannelStatus }

func (m ChannelStatus) encode(e *encoder) {
	e.number(ElementCause, optional, uint64(m.Cause))
	e.number(ElementLocked, mandatory, flag(m.Locked))
}

func decodeChannelStatus(d *decoder) (m ChannelStatus) {
	m.Cause = Cause(d.number(ElementCause, optional))
	m.Locked = d.number(ElementLocked, mandatory) == 1

	return m
}
