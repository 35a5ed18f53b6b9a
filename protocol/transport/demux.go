package transport

import (
	"time"

	"skyring/protocol/transport/packet"
)

// handle takes a packet off a link: checks what every packet must have and finds whom it is for. It runs on the
// goroutine that reads the link, for one packet at a time over all links, and never waits for an association.
func (e *Endpoint) handle(b []byte, from place) {
	e.handling.Lock()
	defer e.handling.Unlock()
	e.count.add(PacketsReceived)
	e.count.addN(BytesReceived, len(b))
	h, err := packet.ParseHeader(b)
	if err != nil || h.SourcePort == 0 || h.DestinationPort == 0 {
		e.count.add(MalformedPackets)
		return
	}
	if !packet.ChecksumOK(b) {
		e.count.add(BadChecksums)
		return
	}
	first, next, err := packet.ChunkAt(b, packet.HeaderLen)
	if err != nil {
		e.count.add(MalformedPackets)
		return
	}
	in := &e.inbound
	*in = inbound{b: b, header: h, from: from}
	switch {
	case first.Type == packet.TypeCookieEcho:
		e.onCookieEcho(in, first, next)
	case first.Type == packet.TypeInit && len(b) <= maxPacket:
		e.onInit(in, first, next == len(b))
	case first.Type != packet.TypeInit:
		e.dispatch(in, first)
	default:
		e.count.add(OversizedPackets)
	}
}

// inbound is a packet with a right checksum on its way through the endpoint. Its bytes are the link reader's again afterwards;
// until then they are the association's, which writes lanes into them.
type inbound struct {
	b        []byte
	header   packet.Header
	from     place
	proven   bool // from is a confirmed address of the association's
	reported bool // an ERROR has answered it
}

func (in *inbound) tuple() tuple {
	return tuple{peer: in.from, peerPort: in.header.SourcePort, localPort: in.header.DestinationPort}
}

// dispatch finds the association by the verification tag (RFC 9260 section 8.5). The addresses of a packet may be
// forged or have changed, so the tag alone decides, and the SCTP ports must fit.
func (e *Endpoint) dispatch(in *inbound, first packet.Chunk) {
	a, d := e.table.tagged(in.header.VerificationTag)
	switch {
	case a != nil && a.hasPorts(in.header):
		a.input(in, packet.HeaderLen)
	case len(in.b) > maxPacket:
		e.count.add(OversizedPackets)
	case d != nil && d.hasPorts(in.header) && d.isPeer(in.from, first):
		e.advance(d, in)
	case e.reflected(in, first):
	default:
		if a != nil || d != nil {
			e.count.add(WrongPorts)
		}
		e.onOutOfTheBlue(in, first)
	}
}

// reflected handles ABORT and SHUTDOWN-COMPLETE with the T bit, which carry the tag that we send to the peer since the
// peer has lost ours (RFC 9260 section 8.5.1, B and C).
func (e *Endpoint) reflected(in *inbound, first packet.Chunk) bool {
	if first.Flags&flagT == 0 || first.Type != packet.TypeAbort && first.Type != packet.TypeShutdownComplete {
		return false
	}
	a, d := e.table.at(in.tuple())
	switch {
	case a != nil && a.peerTag == in.header.VerificationTag:
		a.onReflected(first)
		return true
	case d != nil && first.Type == packet.TypeAbort && d.knows(in.header.VerificationTag):
		e.fail(d, refusedBy(first))
		return true
	}
	return false
}

func (e *Endpoint) onOutOfTheBlue(in *inbound, first packet.Chunk) {
	if first.Type == packet.TypeInitAck { // RFC 9260 section 5.2.3
		e.count.add(BadInits)
		return
	}
	e.count.add(OutOfTheBlue)
	now := time.Now()
	left := e.answers.blue // a copy, as silence costs no token; in a flood the packet is not even read
	if !left.take(now.Sub(e.answers.begun), e.cfg.BlueRepliesPerSecond) {
		e.count.add(LimitedBlue)
		return
	}
	answer := outOfTheBlue(in.b, in.header, in.from.Addr)
	if answer == nil {
		e.count.add(UnansweredBlue)
		return
	}
	e.answers.outOfTheBlue(now) // there is one
	e.send(answer, in.from)
}
