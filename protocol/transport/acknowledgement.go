package transport

import (
	"encoding/binary"
	"time"

	"skyring/protocol/transport/packet"
)

const sackLen = 12 // of a SACK's value, without its blocks and duplicates (RFC 9260 section 3.3.4)

// onAcknowledgement takes a SACK or SHUTDOWN. A peer that acknowledges what was never sent has lost count, or means us to send
// faster than it can take: it is sent an ABORT, as kernels do. pion would drop the packet of a malformed one, and forget a SACK
// with a block that cannot be; both count here.
func (a *Association) onAcknowledgement(c packet.Chunk) chunkFate {
	if !wellFormedAcknowledgement(c) {
		a.endpoint.count.add(MalformedPackets)
		return strip
	}
	if a.sending.neverSent(binary.BigEndian.Uint32(c.Value)) {
		a.endpoint.count.add(BadAcknowledgements)
		const detail = "acknowledges what was never sent"
		a.abort(&CloseError{Reason: ProtocolViolation, Detail: c.Type.String() + " " + detail}, causeProtocolViolation, detail)
		return stop
	}
	if c.Type == packet.TypeSack && !a.sending.blocksFit(c) {
		a.endpoint.count.add(BadAcknowledgements)
		return strip
	}
	now := a.endpoint.clock(time.Now())
	if a.sending.acknowledge(c, now) {
		a.paths.alive()
	}
	if c.Type == packet.TypeShutdown {
		a.peerClosing.Store(true)
	}
	return pass
}

func wellFormedAcknowledgement(c packet.Chunk) bool {
	if c.Type == packet.TypeShutdown {
		return len(c.Value) == 4
	}
	if len(c.Value) < sackLen {
		return false
	}
	blocks, duplicates := binary.BigEndian.Uint16(c.Value[8:]), binary.BigEndian.Uint16(c.Value[10:])
	return len(c.Value) == sackLen+4*(int(blocks)+int(duplicates))
}

// neverSent tells whether a TSN is beyond all that pion was given.
func (s *sendBuffer) neverSent(tsn uint32) bool {
	beyond := tsn + 1 - s.firstTSN - s.written.Load()
	return int32(beyond) > 0
}

// blocksFit tells whether the blocks of a SACK are ranges of what was sent.
func (s *sendBuffer) blocksFit(sack packet.Chunk) bool {
	cumulative := binary.BigEndian.Uint32(sack.Value)
	for list := sack.Value[sackLen : sackLen+4*int(binary.BigEndian.Uint16(sack.Value[8:]))]; len(list) > 0; list = list[4:] {
		start, end := binary.BigEndian.Uint16(list), binary.BigEndian.Uint16(list[2:])
		if start == 0 || start > end || s.neverSent(cumulative+uint32(end)) {
			return false
		}
	}
	return true
}
