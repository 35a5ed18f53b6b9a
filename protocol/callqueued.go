package protocol

// CallQueued is CALL-QUEUED (section 5.18, gateway to station): it tells a station that its call
// waits for a channel. Answered by STATUS. Specified, not used by this version of the gateway.
//
//	07 02 QUEUE-POSITION     optional
type CallQueued struct {
	Position uint16 // place in the queue from 1, 0: not said
}

// Type returns TypeCallQueued.
func (CallQueued) Type() Type { return TypeCallQueued }

func (m CallQueued) encode(e *encoder) {
	e.number(ElementQueuePosition, optional, uint64(m.Position))
}

func decodeCallQueued(d *decoder) (m CallQueued) {
	m.Position = uint16(d.number(ElementQueuePosition, optional))

	return m
}
