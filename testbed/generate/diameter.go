package generate

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"skyring/testbed/trace"
)

const ppidDiameter = 46

// Commands, applications, AVPs and flags (RFC 6733, TS 29.272, RFC 8506).
const (
	commandCapabilities  = 257
	commandCreditControl = 272
	commandWatchdog      = 280
	commandLocation      = 316 // Update-Location of S6a

	applicationBase = 0
	applicationGx   = 16777238
	applicationS6a  = 16777251

	avpUserName, avpSessionID, avpOriginHost, avpResult = 1, 263, 264, 268
	avpDestinationRealm, avpOriginRealm                 = 283, 296
	avpRequestType, avpRequestNumber                    = 416, 415

	flagRequest, flagProxiable, flagMandatory = 0x80, 0x40, 0x40

	resultSuccess = 2001
	realm         = "skyring.example"
)

// diameter is subscriber data and charging: sessions of requests and answers that share a Session-Id.
type diameter struct {
	rng      *rand.Rand
	cfg      Config
	host     string
	hopByHop uint32
}

func newDiameter(rng *rand.Rand, cfg Config, index int) signalling {
	m := &diameter{rng: rng, cfg: cfg, host: fmt.Sprintf("mme%d.%s", index, realm), hopByHop: rng.Uint32()}
	return signalling{opening: m.opening, session: m.session}
}

// opening exchanges capabilities and one watchdog, which belong to no session (RFC 6733 sections 5.3 and 5.5).
func (m *diameter) opening() []step {
	var d dialogue
	m.exchange(&d, 2*time.Millisecond, commandCapabilities, applicationBase, nil)
	m.exchange(&d, 2*time.Millisecond, commandWatchdog, applicationBase, nil)
	return d.steps
}

// session is an update of the location, then a charged session: initial, some updates, termination.
func (m *diameter) session(number int) []step {
	var d dialogue
	id := fmt.Sprintf("%s;%d;%d", m.host, m.rng.Uint32(), number)
	subscriber := fmt.Appendf(nil, "00101%010d", number)
	if number%4 == 0 {
		m.exchange(&d, 2*time.Millisecond, commandLocation, applicationS6a,
			appendAVP(appendAVP(nil, avpSessionID, []byte(id+";s6a")), avpUserName, subscriber))
	}
	updates := m.rng.IntN(3)
	for i := range updates + 2 {
		kind := uint32(2) // update
		switch i {
		case 0:
			kind = 1 // initial
		case updates + 1:
			kind = 3 // termination
		}
		avps := appendAVP(nil, avpSessionID, []byte(id))
		avps = appendAVP(avps, avpRequestType, binary.BigEndian.AppendUint32(nil, kind))
		avps = appendAVP(avps, avpRequestNumber, binary.BigEndian.AppendUint32(nil, uint32(i)))
		m.exchange(&d, time.Millisecond+exponential(m.rng, m.cfg.Hold/2), commandCreditControl, applicationGx, avps)
	}
	return d.steps
}

// exchange adds a request of the client and its answer. Both carry the same identifiers and the session's AVPs.
func (m *diameter) exchange(d *dialogue, after time.Duration, command, application uint32, avps []byte) {
	m.hopByHop++
	endToEnd := m.rng.Uint32()
	request := appendAVP(avps, avpOriginHost, []byte(m.host))
	request = appendAVP(request, avpOriginRealm, []byte(realm))
	request = appendAVP(request, avpDestinationRealm, []byte(realm))
	answer := appendAVP(avps, avpResult, binary.BigEndian.AppendUint32(nil, resultSuccess))
	answer = appendAVP(answer, avpOriginHost, []byte("hss."+realm))
	answer = appendAVP(answer, avpOriginRealm, []byte(realm))
	flags := byte(0)
	if application != applicationBase {
		flags = flagProxiable
	}
	stream := uint16(m.hopByHop & 1)
	d.send(after, step{direction: trace.ToServer, stream: stream, ppid: ppidDiameter, payload: m.message(flags|flagRequest, command, application, endToEnd, request)})
	d.send(between(m.rng, 2*time.Millisecond, 12*time.Millisecond), step{
		direction: trace.ToClient, stream: stream, ppid: ppidDiameter, payload: m.message(flags, command, application, endToEnd, answer),
	})
}

// message is a header and AVPs (RFC 6733 section 3).
func (m *diameter) message(flags byte, command, application, endToEnd uint32, avps []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, 1<<24|uint32(20+len(avps)))
	out = binary.BigEndian.AppendUint32(out, uint32(flags)<<24|command)
	out = binary.BigEndian.AppendUint32(out, application)
	out = binary.BigEndian.AppendUint32(out, m.hopByHop)
	out = binary.BigEndian.AppendUint32(out, endToEnd)
	return append(out, avps...)
}

// appendAVP writes a mandatory AVP without vendor, padded to 4 bytes (RFC 6733 section 4.1).
func appendAVP(dst []byte, code uint32, value []byte) []byte {
	dst = slices.Clip(dst) // callers append to one beginning in several ways
	dst = binary.BigEndian.AppendUint32(dst, code)
	dst = binary.BigEndian.AppendUint32(dst, flagMandatory<<24|uint32(8+len(value)))
	dst = append(dst, value...)
	return append(dst, make([]byte, -len(value)&3)...)
}
