package transport

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	probeInterval = 200 * time.Millisecond // between two questions to a new port of a confirmed address
	shortestWait  = time.Second            // for an answer, before another way is looked for: the shortest RTO
)

// paths are the ways to a peer: the address that the handshake came from, and those that its INIT or INIT-ACK named. Only
// two things prove that packets get there and back: a HEARTBEAT-ACK with our nonce, and a SACK for more of our data. What
// the peer sends by itself proves nothing: an address is confirmed by its first answer, and before it gets nothing but
// heartbeats (RFC 9260 section 5.4).
type paths struct {
	// changed with mu held, read without
	at      atomic.Pointer[place] // where packets go: always a confirmed one
	replies atomic.Pointer[place] // where SACKs go instead, as DATA comes from there; nil for at

	interval time.Duration // between heartbeats; static

	mu         sync.Mutex
	all        []*path // the first is the handshake's
	current    *path   // the one at at
	switched   time.Time
	questioned bool // the peer seems to have restarted elsewhere: it is asked again soon
	candidate  probe
}

// path is one way to the peer.
type path struct {
	at        place
	confirmed bool
	due       time.Time // of the next heartbeat
	sent      time.Time
	nonce     uint64 // of the last heartbeat; 0 when it was answered
	proved    bool   // since then the peer acknowledged data
	missed    int    // unanswered in a row
	roundTrip time.Duration
}

// probe asks another UDP port of a known address whether it is the peer's now (RFC 6951 section 5.4).
type probe struct {
	at    place
	path  *path
	nonce uint64
	sent  time.Time
}

// heartbeat is one to be sent.
type heartbeat struct {
	nonce uint64
	to    place
}

// has tells whether an address is one of the peer's, confirmed or not.
func (p *paths) has(addr netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.all, func(w *path) bool { return w.at.Addr.Addr() == addr })
}

// start begins with the handshake's path. The addresses that the peer named are asked at once.
func (p *paths) start(peer place, named []netip.Addr, interval time.Duration) {
	now := time.Now()
	p.interval = interval
	p.current = &path{at: peer, confirmed: true, due: now.Add(p.jittered())}
	p.all = []*path{p.current}
	for _, addr := range named {
		at := peer
		at.Addr = netip.AddrPortFrom(addr, peer.Addr.Port()) // RFC 6951 section 5.1: the port is the same
		p.all = append(p.all, &path{at: at, due: now})
	}
	p.at.Store(&peer)
}

// place is where packets go.
func (p *paths) place() place { return *p.at.Load() }

// replyPlace is where SACKs go (RFC 9260 section 6.4).
func (p *paths) replyPlace() place {
	if at := p.replies.Load(); at != nil {
		return *at
	}
	return p.place()
}

func (p *paths) jittered() time.Duration {
	return p.interval*9/10 + rand.N(p.interval/5) //nolint:gosec // spreads load, guards nothing
}

// wait is how long an answer may take, before it counts as late.
func (w *path) wait() time.Duration { return max(2*w.roundTrip, shortestWait) }

// late tells that an answer should have been there.
func (w *path) late(now time.Time) bool {
	return w.missed > 0 || w.nonce != 0 && !w.proved && now.Sub(w.sent) > w.wait()
}

// beats are the heartbeats that are due. An address that is not confirmed is asked limit times, and then only when a
// packet has come from it.
func (p *paths) beats(now time.Time, limit int) (list []heartbeat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.all {
		if now.Before(w.due) {
			continue
		}
		if w.nonce != 0 && !w.proved {
			w.missed++
		}
		w.nonce, w.proved = newNonce(), false
		w.sent, w.due = now, now.Add(p.pause(w))
		if w.confirmed || w.missed < limit {
			list = append(list, heartbeat{w.nonce, w.at})
		}
	}
	return list
}

// pause is the time until the next heartbeat; the caller holds mu.
func (p *paths) pause(w *path) time.Duration {
	if p.questioned {
		return min(w.wait(), p.interval)
	}
	return p.jittered()
}

// unanswered is how many heartbeats in a row no path has answered.
func (p *paths) unanswered() (missed int, questioned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	missed = p.current.missed
	for _, w := range p.all {
		if w.confirmed {
			missed = min(missed, w.missed)
		}
	}
	return missed, p.questioned
}

// alive notes that the peer acknowledged data. The answer to the heartbeat under way is awaited still, for its time.
func (p *paths) alive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current.proved, p.current.missed, p.questioned = true, 0, false
}

// question has the peer asked soon and often, as it seems to have restarted elsewhere.
func (p *paths) question(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.questioned {
		return
	}
	p.questioned = true
	for _, w := range p.all {
		if w.confirmed && w.missed == 0 {
			w.due, w.nonce = now, 0
		}
	}
}

// verdict is what is known of the sender of a packet with the association's tag.
type verdict uint8

const (
	stranger  verdict = iota // no address of the peer's
	elsewhere                // another UDP port of the peer's
	hoped                    // an address that the peer named, not confirmed yet
	certain
)

// know judges where a packet came from. One from an address that was given up has it asked again.
func (p *paths) know(from place, limit int) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := stranger
	for _, w := range p.all {
		switch {
		case w.at == from && w.confirmed:
			return certain
		case w.at == from:
			if w.missed >= limit {
				w.missed, w.nonce = 0, 0
			}
			return hoped
		case w.at.near(from):
			v = elsewhere
		}
	}
	return v
}

// probe gives the nonce to ask a new port with; 0 when one was asked a moment ago.
func (p *paths) probe(from place, now time.Time) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.all {
		if !w.at.near(from) {
			continue
		}
		pause := probeInterval
		if !w.confirmed {
			pause = p.interval
		}
		if now.Sub(p.candidate.sent) < pause {
			return 0
		}
		p.candidate = probe{at: from, path: w, nonce: newNonce(), sent: now}
		return p.candidate.nonce
	}
	return 0
}

// probed gives the path whose port has changed, when a HEARTBEAT-ACK answers the probe of that port.
func (p *paths) probed(from place, nonce uint64) *path {
	p.mu.Lock()
	defer p.mu.Unlock()
	if nonce == 0 || p.candidate.nonce != nonce || p.candidate.at != from {
		return nil
	}
	return p.candidate.path
}

// move gives a path another place, or confirms the one it has.
func (p *paths) move(w *path, to place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*w = path{at: to, confirmed: true, due: w.due, roundTrip: w.roundTrip}
	p.candidate, p.questioned = probe{}, false
	p.replies.Store(nil)
	if w == p.current {
		p.at.Store(&to)
	}
}

// answered takes the nonce of a HEARTBEAT-ACK. It gives the path that it proves, and whether that was confirmed before;
// nil when we have sent no such heartbeat. The answer may come from another address of the peer's (RFC 9260 section 8.3).
func (p *paths) answered(nonce uint64, now time.Time) (w *path, confirmed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.all {
		if nonce != 0 && nonce == w.nonce {
			w.nonce, w.missed, w.roundTrip = 0, 0, now.Sub(w.sent)
			if w.confirmed {
				p.questioned = false
			}
			return w, w.confirmed
		}
	}
	return nil, false
}

// goOn changes to another confirmed path when the current one is late in answering, or data stays unacknowledged there. It
// gives the new place, nil when there is no better one.
func (p *paths) goOn(now time.Time, unacknowledged time.Duration) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 1 {
		return nil
	}
	stalled := min(unacknowledged, now.Sub(p.switched)) > p.current.wait()
	if !stalled && !p.current.late(now) {
		return nil
	}
	for _, w := range p.all {
		if w == p.current || !w.confirmed || w.late(now) {
			continue
		}
		at := w.at
		p.current, p.switched = w, now
		p.at.Store(&at)
		p.replies.Store(nil)
		return &at
	}
	return nil
}

// heardFrom notes where DATA came from: SACKs go there.
func (p *paths) heardFrom(from place) {
	replies := p.replies.Load()
	if from == *p.at.Load() {
		if replies != nil {
			p.replies.Store(nil)
		}
		return
	}
	if replies == nil || *replies != from {
		other := from // the parameter itself would be allocated for each packet
		p.replies.Store(&other)
	}
}

// confirmed are the places that packets may go to, the current one first.
func (p *paths) confirmed() (list []place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list = append(list, p.current.at)
	for _, w := range p.all {
		if w != p.current && w.confirmed {
			list = append(list, w.at)
		}
	}
	return list
}

func newNonce() uint64 { return uint64(randomU32())<<32 | uint64(randomU32()|1) }
