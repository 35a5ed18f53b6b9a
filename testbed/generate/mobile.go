package generate

import (
	"math/rand/v2"
	"time"

	"skyring/testbed/trace"
)

// mobile is S1AP or NGAP: subscribers who attach and are released again. The two protocols share their procedures' shape
// and differ in numbers (TS 36.413 and TS 38.413, sections 8 and 9.4).
type mobile struct {
	rng     *rand.Rand
	cfg     Config
	streams uint16

	ppid                 uint32
	ranID, coreID, nasID uint16 // identifiers of information elements
	paging, capacity     uint16
	nasHeader            []byte // of a ciphered NAS message (TS 24.301 and TS 24.501, section 9)
	ranBits, coreBits    int    // of the ids' length fields
	setup                byte   // procedure codes
	initial, down, up    byte
	context, release     byte
}

func newS1AP(rng *rand.Rand, cfg Config, _ int) signalling {
	m := &mobile{
		rng: rng, cfg: cfg, streams: 4, ppid: 18, ranID: 8, coreID: 0, nasID: 26, ranBits: 2, coreBits: 2,
		paging: 137, capacity: 87, nasHeader: []byte{0x27},
		setup: 17, initial: 12, down: 11, up: 13, context: 9, release: 23,
	}
	return signalling{opening: m.opening, session: m.session}
}

func newNGAP(rng *rand.Rand, cfg Config, _ int) signalling {
	m := &mobile{
		rng: rng, cfg: cfg, streams: 4, ppid: 60, ranID: 85, coreID: 10, nasID: 38, ranBits: 2, coreBits: 3,
		paging: 21, capacity: 86, nasHeader: []byte{0x7e, 0x02},
		setup: 21, initial: 15, down: 4, up: 46, context: 14, release: 41,
	}
	return signalling{opening: m.opening, session: m.session}
}

// opening is the set-up of the node, which belongs to no subscriber and goes on stream 0: the default paging cycle of 64
// frames one way, the relative capacity the other.
func (m *mobile) opening() []step {
	var d dialogue
	d.send(time.Millisecond, m.step(trace.ToServer, 0, apPDU(initiatingMessage, m.setup, reject, element{id: m.paging, critical: ignore, value: []byte{0x20}})))
	d.send(5*time.Millisecond, m.step(trace.ToClient, 0, apPDU(successfulOutcome, m.setup, reject, element{id: m.capacity, critical: ignore, value: []byte{255}})))
	return d.steps
}

// session is one subscriber: attach with authentication, a context with a radio capability that takes two fragments, and
// the release after the hold time.
func (m *mobile) session(number int) []step {
	ran := uint64(number + 1)
	core := uint64(1)<<20 + ran // the core's own numbers
	stream := uint16(1 + number%int(m.streams-1))
	both := []element{
		{id: m.coreID, critical: reject, value: constrained(core, m.coreBits)},
		{id: m.ranID, critical: reject, value: constrained(ran, m.ranBits)},
	}
	nas := func(n int) element {
		return element{id: m.nasID, critical: reject, value: appendOpen(nil, bytesOf(m.rng, n))}
	}
	var d dialogue
	say := func(after time.Duration, direction trace.Direction, alternative, procedure byte, elements ...element) {
		d.send(between(m.rng, after/2, after*3/2), m.step(direction, stream, apPDU(alternative, procedure, ignore, elements...)))
	}
	say(time.Millisecond, trace.ToServer, initiatingMessage, m.initial, both[1], nas(60+m.rng.IntN(60)))
	say(8*time.Millisecond, trace.ToClient, initiatingMessage, m.down, both[0], both[1], nas(36))
	say(30*time.Millisecond, trace.ToServer, initiatingMessage, m.up, both[0], both[1], nas(19))
	say(8*time.Millisecond, trace.ToClient, initiatingMessage, m.down, both[0], both[1], nas(14))
	say(30*time.Millisecond, trace.ToServer, initiatingMessage, m.up, both[0], both[1], nas(19))
	say(12*time.Millisecond, trace.ToClient, initiatingMessage, m.context, both[0], both[1], nas(200+m.rng.IntN(200)))
	say(25*time.Millisecond, trace.ToServer, successfulOutcome, m.context, both[0], both[1])
	say(300*time.Microsecond, trace.ToServer, initiatingMessage, m.up, both[0], both[1], nas(1400+m.rng.IntN(400)))
	d.at += exponential(m.rng, m.cfg.Hold)
	say(time.Millisecond, trace.ToClient, initiatingMessage, m.release, both[0], both[1])
	say(20*time.Millisecond, trace.ToServer, successfulOutcome, m.release, both[0], both[1])
	return d.steps
}

func (m *mobile) step(direction trace.Direction, stream uint16, payload []byte) step {
	return step{direction: direction, stream: stream, ppid: m.ppid, payload: payload}
}
