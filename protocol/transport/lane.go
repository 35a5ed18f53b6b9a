package transport

import (
	"encoding/binary"

	"skyring/protocol/transport/packet"
)

// pion knows one kind of stream; a message that it returns does not tell whether it was ordered, and one stream cannot
// send both kinds. So each SCTP stream is four pion streams, its lanes, told apart by the two highest bits of the stream
// id that pion sees. On the wire there is only the SCTP stream id.
//
// A lane that is only sent on and one that is only received from also never meet: a stream reset by the peer
// (RFC 6525) cannot touch our sequence numbers, and every lane received from comes through AcceptStream.
type lane uint16

const (
	laneOrderedIn lane = iota << 14
	laneUnorderedIn
	laneOrderedOut
	laneUnorderedOut

	laneKind   = laneUnorderedOut
	laneStream = ^laneKind

	// laneRefused swallows DATA on streams past the negotiated count: their TSNs have to be acknowledged.
	laneRefused = laneUnorderedIn | laneStream
)

func (l lane) kind() lane      { return l & laneKind }
func (l lane) stream() uint16  { return uint16(l & laneStream) }
func (l lane) unordered() bool { return l.kind() == laneUnorderedIn || l.kind() == laneUnorderedOut }
func outLane(m Message) lane   { return lane(m.Stream) | outKind(m.Unordered) }

func outKind(unordered bool) lane {
	if unordered {
		return laneUnorderedOut
	}
	return laneOrderedOut
}

func inKind(unordered bool) lane {
	if unordered {
		return laneUnorderedIn
	}
	return laneOrderedIn
}

// Offsets in a DATA chunk.
const (
	dataFlags  = 1
	dataStream = 8
)

// toLane writes the lane of a received DATA chunk into it.
func toLane(raw []byte, l lane) {
	binary.BigEndian.PutUint16(raw[dataStream:], uint16(l))
	if l == laneRefused {
		raw[dataFlags] |= packet.FlagUnordered | packet.FlagBeginning | packet.FlagEnding
	}
}

// fromLane writes the SCTP stream of a DATA chunk that pion sends into it. The lane sets the U bit: pion sends PPID 50
// ordered even on an unordered stream.
func fromLane(raw []byte) {
	l := lane(binary.BigEndian.Uint16(raw[dataStream:]))
	binary.BigEndian.PutUint16(raw[dataStream:], l.stream())
	if l.unordered() {
		raw[dataFlags] |= packet.FlagUnordered
	}
}
