package transport

import (
	"encoding/binary"
	"fmt"

	"skyring/protocol/transport/packet"
)

const maxReportedChunk = 512 // bytes of an unknown chunk that the report repeats

// input takes a packet for this association, from the chunk at offset on: it answers what is the front end's, strips
// what pion cannot take, which would make pion drop the whole packet, and queues the rest. It runs on the goroutine that
// reads the link.
func (a *Association) input(in *inbound, offset int) {
	if !wellFormed(in.b, offset) {
		a.endpoint.count.add(MalformedPackets)
		return
	}
	if !a.fromPeer(in) {
		return
	}
	a.intake.mu.Lock()
	defer a.intake.mu.Unlock()
	d := delivery{association: a, in: in}
	a.filter(offset, &d)
	d.queue()
}

func wellFormed(b []byte, offset int) bool {
	for offset < len(b) {
		_, next, err := packet.ChunkAt(b, offset)
		if err != nil {
			return false
		}
		offset = next
	}
	return true
}

// filter adds the chunks that pion is to see.
func (a *Association) filter(offset int, d *delivery) {
	in := d.in
	for offset < len(in.b) {
		c, next, _ := packet.ChunkAt(in.b, offset) // wellFormed has found no error
		at := offset
		offset = next
		fate := a.judge(in, c)
		if fate == pass && len(c.Raw) > maxChunk {
			fate = a.onLongChunk(c)
		}
		switch fate {
		case pass:
			if c.Type == packet.TypeData {
				if a.intake.shut {
					a.endpoint.count.add(PausedData)
					continue
				}
				a.assignLane(c.Raw)
			}
			d.add(c, at, next)
		case strip:
		case unknown:
			a.endpoint.count.add(UnknownChunks)
			if c.Type.Reportable() {
				a.report(in, causeUnrecognisedChunk, c.Raw[:min(len(c.Raw), maxReportedChunk)])
			}
			if !c.Type.Skippable() {
				return
			}
		case stop:
			d.drop()
			return
		}
	}
}

// chunkFate is what becomes of a chunk.
type chunkFate uint8

const (
	pass    chunkFate = iota // pion's
	strip                    // dealt with
	unknown                  // report or not, as the type says
	stop                     // the rest of the packet has no meaning
)

func (a *Association) judge(in *inbound, c packet.Chunk) chunkFate {
	switch c.Type { //nolint:exhaustive // the rest is unknown to us
	case packet.TypeData:
		return a.onData(in, c)
	case packet.TypeSack, packet.TypeShutdown:
		return a.onAcknowledgement(c)
	case packet.TypeHeartbeat:
		a.answerHeartbeat(in, c)
		return strip
	case packet.TypeHeartbeatAck:
		a.onHeartbeatAck(in, c)
		return strip
	case packet.TypeAbort:
		return a.onAbort(c)
	case packet.TypeShutdownAck:
		return pass
	case packet.TypeShutdownComplete:
		return a.onShutdownComplete(c)
	case packet.TypeError:
		a.endpoint.log.Debug().Stringer("peer", in.from.Addr).Bytes("causes", c.Value).Msg("peer reports an error")
		return strip
	case packet.TypeForwardTSN:
		return a.onForwardTSN(c)
	case packet.TypeReconfig:
		return a.onReconfig(in, c)
	case packet.TypeInit, packet.TypeInitAck, packet.TypeCookieEcho: // never behind another chunk
		a.endpoint.count.add(UnwantedChunks)
		return stop
	case packet.TypeCookieAck, packet.TypeECNE, packet.TypeCWR, packet.TypePad:
		a.endpoint.count.add(UnwantedChunks)
		return strip
	}
	return unknown
}

// onLongChunk ends the association of a peer that sends DATA in one piece of more bytes than pion reads, as it may where
// frames are jumbo ones and so is its message: it would send that again and again in vain.
func (a *Association) onLongChunk(c packet.Chunk) chunkFate {
	a.endpoint.count.add(OversizedPackets)
	if c.Type != packet.TypeData {
		return strip
	}
	detail := fmt.Sprintf("DATA of %d bytes, at most %d can be taken: lower the peer's path MTU to %d", len(c.Raw), maxChunk, maxPacket)
	a.abort(&CloseError{Reason: ProtocolViolation, Detail: detail}, causeOutOfResource, detail)
	return stop
}

// onData refuses DATA without user data (RFC 9260 section 6.2: ABORT), which would stall its stream in pion.
func (a *Association) onData(in *inbound, c packet.Chunk) chunkFate {
	d, err := packet.ParseData(c)
	if err != nil {
		a.endpoint.count.add(MalformedPackets)
		return stop
	}
	if len(d.Payload) == 0 {
		a.endpoint.count.add(EmptyData)
		a.abort(&CloseError{Reason: ProtocolViolation, Detail: "DATA without user data"}, causeNoUserData, string(u32(d.TSN)))
		return stop
	}
	if d.Stream >= a.in {
		a.endpoint.count.add(BadStreams)
		a.report(in, causeInvalidStream, binary.BigEndian.AppendUint32(nil, uint32(d.Stream)<<16))
	}
	return pass
}

// assignLane writes the lane of a DATA chunk that passed into it. The caller holds the intake's mu.
func (a *Association) assignLane(raw []byte) {
	stream, unordered := binary.BigEndian.Uint16(raw[dataStream:]), raw[dataFlags]&packet.FlagUnordered != 0
	if stream >= a.in {
		toLane(raw, laneRefused)
		return
	}
	l := lane(stream) | inKind(unordered)
	toLane(raw, l)
	if l == a.intake.latest && a.intake.lanes != nil {
		return
	}
	if a.intake.lanes == nil {
		a.intake.lanes = map[lane]struct{}{}
	}
	a.intake.lanes[l] = struct{}{}
	a.intake.latest = l
}

// maxForward bounds how far FORWARD-TSN may go at once: pion walks over each TSN, holding the association's lock.
const maxForward = 1 << 16

func (a *Association) onForwardTSN(c packet.Chunk) chunkFate {
	tsn, ok := cumulativeTSN(c)
	if !ok || len(c.Value)%4 != 0 || !a.forwardTSN || int32(tsn-a.window.lastCumulative()) > maxForward {
		a.endpoint.count.add(UnwantedChunks)
		return strip
	}
	return pass
}

// report sends an ERROR chunk with one cause, once for a packet.
func (a *Association) report(in *inbound, c cause, value []byte) {
	if in.reported {
		return
	}
	in.reported = true
	a.endpoint.send(appendError(a.packet(64), c, value), a.replyPlace(in))
}
