package generate

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"skyring/testbed/trace"
)

const ppidM3UA = 3

// Message classes and types of M3UA (RFC 4666 section 3.1), and types of ISUP (ITU-T Q.763 table 4).
const (
	classTransfer, typeData               = 1, 1
	classState, typeUp, typeUpAck         = 3, 1, 4
	classTraffic, typeActive, typeActvAck = 4, 1, 3

	isupIAM, isupACM, isupANM, isupREL, isupRLC = 0x01, 0x06, 0x09, 0x0c, 0x10

	serviceISUP = 5
)

// m3ua is trunk signalling: ISUP calls over the circuits between two exchanges.
type m3ua struct {
	rng           *rand.Rand
	cfg           Config
	local, remote uint32 // point codes of client and server
}

func newM3UA(rng *rand.Rand, cfg Config, index int) signalling {
	m := &m3ua{rng: rng, cfg: cfg, local: uint32(1000 + index), remote: 2}
	return signalling{opening: m.opening, session: m.session}
}

// opening brings the application server process up and active, on stream 0 (RFC 4666 section 4.3).
func (m *m3ua) opening() []step {
	var d dialogue
	for _, s := range []struct {
		direction   trace.Direction
		class, kind byte
	}{
		{trace.ToServer, classState, typeUp},
		{trace.ToClient, classState, typeUpAck},
		{trace.ToServer, classTraffic, typeActive},
		{trace.ToClient, classTraffic, typeActvAck},
	} {
		d.send(2*time.Millisecond, step{direction: s.direction, ppid: ppidM3UA, payload: m3uaMessage(s.class, s.kind, nil)})
	}
	return d.steps
}

// session is one call: set up, alerting, answered, held, cleared by either side. Circuits take turns, so that a call gets
// a circuit whose last call is over.
func (m *m3ua) session(number int) []step {
	cic := uint16(1 + number%31 + number/31*32%4064)
	var d dialogue
	say := func(after time.Duration, direction trace.Direction, kind byte, parameters []byte) {
		d.send(after, step{direction: direction, stream: 1 + cic%7, ppid: ppidM3UA, payload: m.isup(direction, cic, kind, parameters)})
	}
	caller, callee := trace.ToServer, trace.ToClient
	if m.rng.IntN(3) == 0 {
		caller, callee = callee, caller
	}
	iam := []byte{0x00, 0x60, 0x00, 0x0a, 0x00, 0x02, 0x00, 0x05, 0x03, 0x10} // speech to a national number of 6 digits
	for range 3 {
		iam = append(iam, byte(m.rng.IntN(10)<<4|m.rng.IntN(10)))
	}
	say(between(m.rng, time.Millisecond, 3*time.Millisecond), caller, isupIAM, iam)
	say(between(m.rng, 10*time.Millisecond, 60*time.Millisecond), callee, isupACM, []byte{0x12, 0x14, 0x00})
	say(time.Millisecond+exponential(m.rng, m.cfg.Ring), callee, isupANM, []byte{0x00})
	clearing, other := caller, callee
	if m.rng.IntN(2) == 0 {
		clearing, other = other, clearing
	}
	say(time.Millisecond+exponential(m.rng, m.cfg.Hold), clearing, isupREL, []byte{0x02, 0x00, 0x02, 0x80, 0x90}) // normal clearing
	say(between(m.rng, 5*time.Millisecond, 30*time.Millisecond), other, isupRLC, []byte{0x00})
	return d.steps
}

// isup is a payload data message with an ISUP message (RFC 4666 section 3.3.1, Q.763 section 1). Its signalling link
// selection is the circuit's lowest bits, which keeps a call on one link.
func (m *m3ua) isup(direction trace.Direction, cic uint16, kind byte, parameters []byte) []byte {
	origin, destination := m.local, m.remote
	if direction == trace.ToClient {
		origin, destination = destination, origin
	}
	var data []byte
	data = binary.BigEndian.AppendUint32(data, origin)
	data = binary.BigEndian.AppendUint32(data, destination)
	data = append(data, serviceISUP, 2, 0, byte(cic&0x0f)) // national network
	data = binary.LittleEndian.AppendUint16(data, cic)
	data = append(data, kind)
	data = append(data, parameters...)
	return m3uaMessage(classTransfer, typeData, m3uaParameter(nil, 0x0210, data))
}

// m3uaMessage is a common header and parameters (RFC 4666 section 3.1).
func m3uaMessage(class, kind byte, parameters []byte) []byte {
	out := []byte{1, 0, class, kind}
	out = binary.BigEndian.AppendUint32(out, uint32(8+len(parameters)))
	return append(out, parameters...)
}

// m3uaParameter is a TLV, padded to 4 bytes (RFC 4666 section 3.2).
func m3uaParameter(dst []byte, tag uint16, value []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, tag)
	dst = binary.BigEndian.AppendUint16(dst, uint16(4+len(value)))
	dst = append(dst, value...)
	return append(dst, make([]byte, -len(value)&3)...)
}
