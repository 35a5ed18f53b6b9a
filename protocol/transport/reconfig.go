package transport

import (
	"encoding/binary"

	"skyring/protocol/transport/packet"
)

// Parameters of RE-CONFIG (RFC 6525 section 4).
const (
	reconfigOutgoingReset = 13
	reconfigResponse      = 16
	reconfigAddIn         = 18

	outgoingResetLen = 12 // without streams
)

// reconfigResult is the answer to a request (RFC 6525 section 4.4).
type reconfigResult uint32

const (
	reconfigTaken       reconfigResult = 0 // pion's to answer
	reconfigDenied      reconfigResult = 2
	reconfigWrongStream reconfigResult = 3
	reconfigOneAtATime  reconfigResult = 4
	reconfigInProgress  reconfigResult = 6 // not the last answer
)

// pendingReset is a reset that pion keeps until the peer's data from before it has come.
type pendingReset struct {
	pending  bool
	sequence uint32
	lastTSN  uint32
}

// onReconfig passes resets of the peer's outgoing streams and responses; pion would drop the packet for anything else. What
// cannot be done is refused here, and then all that the chunk asks for.
func (a *Association) onReconfig(in *inbound, c packet.Chunk) chunkFate {
	fate, refusal := pass, reconfigTaken
	for p, err := range packet.Parameters(c.Value) {
		if err != nil {
			a.endpoint.count.add(MalformedPackets)
			return strip
		}
		switch {
		case p.Type == reconfigResponse && len(p.Value) >= 8:
		case p.Type == reconfigOutgoingReset && len(p.Value) >= outgoingResetLen:
			refusal = max(refusal, a.judgeReset(p.Value))
		case isRequest(p):
			refusal = max(refusal, reconfigDenied)
		default:
			fate = strip
		}
	}
	if len(c.Value) == 0 || fate == strip || refusal != reconfigTaken {
		a.endpoint.count.add(UnwantedChunks)
		fate = strip
	}
	if refusal != reconfigTaken {
		a.refuseRequests(in, c, refusal)
	}
	return fate
}

func isRequest(p packet.Parameter) bool {
	return p.Type >= reconfigOutgoingReset && p.Type <= reconfigAddIn && p.Type != reconfigResponse && len(p.Value) >= 4
}

// judgeReset decides on the reset of the peer's outgoing streams. pion keeps one for which data is missing as long as that takes,
// and as many as come: so one may be kept at a time, as RFC 6525 section 5.1.1 has it, and none for streams that there are
// not. A reset of all streams, which names none, would reset none in pion. The caller holds the intake's mu.
func (a *Association) judgeReset(value []byte) reconfigResult {
	streams := value[outgoingResetLen:]
	if len(streams) == 0 || len(streams)/2 > int(a.in) {
		return reconfigDenied
	}
	for ; len(streams) >= 2; streams = streams[2:] {
		if binary.BigEndian.Uint16(streams) >= a.in {
			return reconfigWrongStream
		}
	}
	sequence, lastTSN := binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[8:])
	missing := func(tsn uint32) bool { return int32(tsn-a.window.lastCumulative()) > 0 }
	kept := &a.intake.reset
	if !missing(lastTSN) {
		return reconfigTaken
	}
	if kept.pending && kept.sequence != sequence && missing(kept.lastTSN) && a.intake.resetDone.Load() != done(kept.sequence) {
		return reconfigOneAtATime
	}
	*kept = pendingReset{pending: true, sequence: sequence, lastTSN: lastTSN}
	a.intake.resetDone.Store(0)
	return reconfigTaken
}

// done is what resetDone holds when pion has given its last answer to a request; 0 is none's.
func done(sequence uint32) uint64 { return 1<<32 | uint64(sequence) }

// noteAnswers learns from pion's responses which request it keeps no more.
func (a *Association) noteAnswers(c packet.Chunk) {
	for p, err := range packet.Parameters(c.Value) {
		if err == nil && p.Type == reconfigResponse && len(p.Value) >= 8 &&
			reconfigResult(binary.BigEndian.Uint32(p.Value[4:])) != reconfigInProgress {
			a.intake.resetDone.Store(done(binary.BigEndian.Uint32(p.Value)))
		}
	}
}

// refuseRequests answers all requests of a chunk.
func (a *Association) refuseRequests(in *inbound, c packet.Chunk, why reconfigResult) {
	for p, err := range packet.Parameters(c.Value) {
		if err != nil || !isRequest(p) {
			continue
		}
		answer := append(append([]byte(nil), p.Value[:4]...), u32(uint32(why))...)
		response := packet.AppendParameter(nil, reconfigResponse, answer)
		a.endpoint.send(packet.AppendChunk(a.packet(32), packet.TypeReconfig, 0, response), a.replyPlace(in))
	}
}
