package transport

import (
	"encoding/binary"
	"fmt"
	"time"

	"skyring/protocol/transport/packet"
)

const (
	paramHeartbeatInfo = 1
	nonceLen           = 8
	maxHeartbeat       = 1024 // bytes of a peer's HEARTBEAT that are sent back
)

// RoundTrip is the time that the last answered heartbeat took on the path in use; 0 before the first.
func (a *Association) RoundTrip() time.Duration {
	a.paths.mu.Lock()
	defer a.paths.mu.Unlock()
	return a.paths.current.roundTrip
}

// beat does what the association's clocks ask for.
func (a *Association) beat(now time.Time) {
	if a.isDone() {
		return
	}
	if a.starved(now) {
		a.endpoint.count.add(OversizedMessages)
		const detail = "message longer than the receive window"
		a.abort(&CloseError{Reason: ProtocolViolation, Detail: detail}, causeOutOfResource, detail)
		return
	}
	limit := a.endpoint.cfg.MaxMissedHeartbeats
	beats := a.paths.beats(now, limit)
	if why := a.failed(now); why != nil {
		a.endpoint.count.add(failureCounter(why))
		a.abort(why, causeUserAbort, "path failed")
		return
	}
	for _, h := range beats {
		a.sendHeartbeat(h.nonce, h.to)
	}
	if to := a.paths.goOn(now, a.sending.stalled(a.endpoint.clock(now))); to != nil {
		a.endpoint.count.add(PathChanges)
		a.endpoint.log.Info().Stringer("peer", a.peer.Addr).Stringer("address", to.Addr).
			Msg("association goes on over another of its peer's addresses, as the one in use does not answer")
	}
}

func failureCounter(why *CloseError) Counter {
	if why.Reason == PeerRestarted {
		return Restarts
	}
	return PathFailures
}

// failed says why no path leads to the peer any more, nil when one does.
func (a *Association) failed(now time.Time) *CloseError {
	missed, questioned := a.paths.unanswered()
	if missed >= a.endpoint.cfg.MaxMissedHeartbeats {
		if questioned {
			return &CloseError{Reason: PeerRestarted, Detail: "behind another UDP port, and the old one is silent"}
		}
		return &CloseError{Reason: PathFailed, Detail: fmt.Sprintf("%d heartbeats unanswered", missed)}
	}
	if since := a.sending.stalled(a.endpoint.clock(now)); since > a.endpoint.cfg.DataTimeout {
		return &CloseError{Reason: PathFailed, Detail: fmt.Sprintf("data unacknowledged for %s", since.Round(time.Second))}
	}
	return nil
}

func (a *Association) sendHeartbeat(nonce uint64, to place) {
	info := packet.AppendParameter(nil, paramHeartbeatInfo, binary.BigEndian.AppendUint64(nil, nonce))
	a.endpoint.send(packet.AppendChunk(a.packet(32), packet.TypeHeartbeat, 0, info), to)
}

// answerHeartbeat returns a HEARTBEAT as it came, to where it came from (RFC 9260 section 8.3).
func (a *Association) answerHeartbeat(in *inbound, c packet.Chunk) {
	if len(c.Raw) > maxHeartbeat {
		a.endpoint.count.add(UnwantedChunks)
		return
	}
	if len(in.b) > maxPacket { // a probe for how long packets may be (RFC 8899): no longer than that
		a.endpoint.count.add(OversizedPackets)
		return
	}
	a.endpoint.send(packet.AppendChunk(a.packet(len(c.Raw)+4), packet.TypeHeartbeatAck, 0, c.Value), in.from)
}

func (a *Association) onHeartbeatAck(in *inbound, c packet.Chunk) {
	nonce := heartbeatNonce(c.Value)
	w, confirmed := a.paths.answered(nonce, time.Now())
	switch {
	case confirmed:
	case w != nil:
		a.adopt(w, w.at, PathsConfirmed)
	default:
		if w = a.paths.probed(in.from, nonce); w != nil {
			a.adopt(w, in.from, Rebinds)
			return
		}
		a.endpoint.count.add(BadHeartbeats)
	}
}

// adopt makes a place that has answered a path's; not when another association or handshake has that.
func (a *Association) adopt(w *path, at place, counter Counter) {
	if !a.endpoint.table.rebind(a, w.at, at) {
		a.endpoint.count.add(BadHeartbeats)
		return
	}
	a.paths.move(w, at)
	a.endpoint.count.add(counter)
	a.endpoint.log.Debug().Stringer("peer", a.peer.Addr).Stringer("address", at.Addr).Stringer("event", counter).
		Msg("peer's address answers")
}

func heartbeatNonce(value []byte) uint64 {
	for p, err := range packet.Parameters(value) {
		if err == nil && p.Type == paramHeartbeatInfo && len(p.Value) == nonceLen {
			return binary.BigEndian.Uint64(p.Value)
		}
		break
	}
	return 0
}

// fromPeer decides on a packet with the association's tag by where it came from. Packets from every address that the peer
// named in its INIT are taken. So are those from another UDP port of such an address, as a NAT may have changed it: it is
// asked to prove itself before ours go there. Any other address is refused, and so is another link or DTLS session.
func (a *Association) fromPeer(in *inbound) bool {
	if in.from == a.paths.place() {
		in.proven = true
		return true
	}
	switch a.paths.know(in.from, a.endpoint.cfg.MaxMissedHeartbeats) {
	case certain:
		in.proven = true
	case hoped:
	case elsewhere:
		if nonce := a.paths.probe(in.from, time.Now()); nonce != 0 {
			a.sendHeartbeat(nonce, in.from)
		}
	case stranger:
		a.endpoint.count.add(WrongAddresses)
		return false
	}
	return true
}

// replyPlace is where the answer to a packet goes: where it came from, if that is proven.
func (a *Association) replyPlace(in *inbound) place {
	if in.proven {
		return in.from
	}
	return a.paths.place()
}
