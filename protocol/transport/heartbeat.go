package transport

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"skyring/protocol/transport/packet"
)

const (
	paramHeartbeatInfo = 1
	nonceLen           = 8
	maxHeartbeat       = 1024 // bytes of a peer's HEARTBEAT that are sent back
	probeInterval      = 200 * time.Millisecond
)

// path is the way to the peer: where it is and whether it answers. Only two things prove that packets get there and
// back: a HEARTBEAT-ACK with our nonce, and a SACK for more of our data. What the peer sends by itself proves nothing.
type path struct {
	at atomic.Pointer[place] // written by the registry, with its tuple

	mu        sync.Mutex
	interval  time.Duration
	due       time.Time // of the next heartbeat
	sent      time.Time
	nonce     uint64 // of the last heartbeat; 0 when it was answered
	proved    bool   // since then the peer acknowledged data
	missed    int    // unanswered in a row
	roundTrip time.Duration
	candidate probe
}

// probe asks another UDP port whether it is the peer's now (RFC 6951 section 5.4).
type probe struct {
	at    place
	nonce uint64
	sent  time.Time
}

func (p *path) start(peer place, interval time.Duration) {
	p.at.Store(&peer)
	p.interval = interval
	p.due = time.Now().Add(p.jittered())
}

func (p *path) place() place { return *p.at.Load() }

func (p *path) jittered() time.Duration {
	return p.interval*9/10 + rand.N(p.interval/5) //nolint:gosec // spreads load, guards nothing
}

// next gives the nonce of a heartbeat to send, 0 when none is due, and how many before it stay unanswered.
func (p *path) next(now time.Time) (nonce uint64, missed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.due) {
		return 0, 0
	}
	if p.nonce != 0 && !p.proved {
		p.missed++
	}
	p.nonce, p.proved = newNonce(), false
	p.sent, p.due = now, now.Add(p.jittered())
	return p.nonce, p.missed
}

// answered takes the nonce of a HEARTBEAT-ACK.
func (p *path) answered(nonce uint64, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if nonce == 0 || nonce != p.nonce {
		return false
	}
	p.nonce, p.missed, p.roundTrip = 0, 0, now.Sub(p.sent)
	return true
}

// alive notes that the peer acknowledged data. The answer to the heartbeat under way is awaited still, for its time.
func (p *path) alive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proved, p.missed = true, 0
}

// probe gives the nonce to ask a new port with; 0 when it was asked a moment ago.
func (p *path) probe(from place, now time.Time) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.candidate.sent) < probeInterval {
		return 0
	}
	p.candidate = probe{at: from, nonce: newNonce(), sent: now}
	return p.candidate.nonce
}

// probed reports whether a HEARTBEAT-ACK answers the probe of that port.
func (p *path) probed(from place, nonce uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if nonce == 0 || p.candidate.nonce != nonce || p.candidate.at != from {
		return false
	}
	p.candidate, p.nonce, p.missed = probe{}, 0, 0
	return true
}

func newNonce() uint64 { return uint64(randomU32())<<32 | uint64(randomU32()|1) }

// RoundTrip is the time that the last answered heartbeat took; 0 before the first.
func (a *Association) RoundTrip() time.Duration {
	a.path.mu.Lock()
	defer a.path.mu.Unlock()
	return a.path.roundTrip
}

// beat does what the association's clocks ask for.
func (a *Association) beat(now time.Time) {
	if a.starved(now) {
		a.abort(&CloseError{Reason: ProtocolViolation, Detail: "message longer than the receive window"},
			causeOutOfResource, "")
		return
	}
	nonce, missed := a.path.next(now)
	if nonce == 0 {
		return
	}
	if missed >= a.endpoint.cfg.MaxMissedHeartbeats {
		a.endpoint.count.add(PathFailures)
		a.abort(&CloseError{Reason: PathFailed, Detail: fmt.Sprintf("%d heartbeats unanswered", missed)},
			causeUserAbort, "path failed")
		return
	}
	a.sendHeartbeat(nonce, a.path.place())
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
	a.endpoint.send(packet.AppendChunk(a.packet(len(c.Raw)+4), packet.TypeHeartbeatAck, 0, c.Value), in.from)
}

func (a *Association) onHeartbeatAck(in *inbound, c packet.Chunk) {
	nonce := heartbeatNonce(c.Value)
	switch {
	case in.from == a.path.place() && a.path.answered(nonce, time.Now()):
	case a.path.probed(in.from, nonce) && a.endpoint.table.rebind(a, in.from):
		a.endpoint.count.add(Rebinds)
		a.endpoint.log.Debug().Stringer("peer", in.from.Addr).Msg("peer's UDP port changed")
	default:
		a.endpoint.count.add(BadHeartbeats)
	}
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

// fromPeer decides on a packet with the association's tag by where it came from. Another UDP port of the peer's address
// may be a NAT that changed: its packets are taken, and it is asked to prove itself before ours go there. Another address
// is refused, also one that a multi-homed peer named in its INIT (parameters 5 and 6), which is not kept: the packet
// counts as WrongAddresses, and such a peer's association ends with its first path. So is another link, and another DTLS
// session.
func (a *Association) fromPeer(from place) bool {
	peer := a.path.place()
	if from == peer {
		return true
	}
	if !peer.near(from) {
		a.endpoint.count.add(WrongAddresses)
		return false
	}
	if nonce := a.path.probe(from, time.Now()); nonce != 0 {
		a.sendHeartbeat(nonce, from)
	}
	return true
}
