package transport

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"skyring/protocol/transport/packet"
)

// Dial says what to set up.
type Dial struct {
	LocalPort  uint16 // SCTP port; 0 picks a free one from 49152 up
	RemotePort uint16 // SCTP port, at least 1
	Streams    uint16 // wanted each way; 0 takes the configured number
	Link       int    // which of the endpoint's links to go over, in the order given to NewOver
}

// ErrRefused is what errors.Is finds when the peer answered a Dial with ABORT.
var ErrRefused = errors.New("refused by the peer")

const maxStaleCookies = 3 // INITs begun anew because the peer found its cookie too old

// dialState is a client's state before the association (RFC 9260 section 4).
type dialState uint8

const (
	cookieWait dialState = iota
	cookieEchoed
)

func (s dialState) String() string {
	if s == cookieWait {
		return "INIT"
	}
	return "COOKIE-ECHO"
}

// dialing is a handshake that this endpoint began.
type dialing struct {
	// static once it is in the registry
	peer                place
	localPort, peerPort uint16
	localTag, localTSN  uint32
	streams             uint16
	advanced            chan struct{}   // state changed; holds one
	done                chan dialResult // holds one; written by who removed it from the registry

	mu      sync.Mutex
	state   dialState
	sending []byte // the packet to repeat; only Dial writes its checksum
	terms   terms  // in cookieEchoed
	stale   int
}

type dialResult struct {
	association *Association
	err         error
}

// Dial sets an association up with the peer at a UDP address, whose port is 0 over IP, and waits for it until ctx ends or INIT and COOKIE-ECHO
// have been repeated as configured. Many associations may share the endpoint. The error says how far it came; it matches
// ErrRefused when the peer answered with ABORT, and ctx's error when that ended.
//
// A UDP port that nobody serves looks like a peer that is silent: the kernel tells of ICMP port unreachable on connected
// sockets only, and one that serves many peers is not connected. Were it asked for (IP_RECVERR), one peer's ICMP would fail
// the next packet to any other, and a forged one would end handshakes; kernels ignore it under encapsulation as well.
func (e *Endpoint) Dial(ctx context.Context, to netip.AddrPort, dial Dial) (*Association, error) {
	a, err := e.dial(ctx, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), dial)
	if err != nil {
		return nil, fmt.Errorf("dial SCTP port %d at %s: %w", dial.RemotePort, to, err)
	}
	return a, nil
}

func (e *Endpoint) dial(ctx context.Context, to netip.AddrPort, dial Dial) (*Association, error) {
	if dial.RemotePort == 0 || !to.IsValid() {
		return nil, errors.New("address and SCTP port must not be 0")
	}
	if dial.Streams > MaxStreams {
		return nil, fmt.Errorf("%d streams, at most %d may be", dial.Streams, MaxStreams)
	}
	if dial.Link < 0 || dial.Link >= len(e.links) {
		return nil, fmt.Errorf("link %d, of %d there are", dial.Link, len(e.links))
	}
	if native := e.links[dial.Link].Mode() == ModeIP; native != (to.Port() == 0) {
		return nil, errors.New("the UDP port must be 0 over IP, and only there")
	}
	peer, err := e.reach(ctx, dial.Link, to)
	if err != nil {
		return nil, err
	}
	d := &dialing{
		peer: peer, localPort: dial.LocalPort, peerPort: dial.RemotePort, localTSN: randomU32(), streams: dial.Streams,
		advanced: make(chan struct{}, 1), done: make(chan dialResult, 1),
	}
	if d.streams == 0 {
		d.streams = e.cfg.Streams
	}
	if err := e.table.addDialing(d); err != nil {
		return nil, err
	}
	d.begin(e.cfg.ReceiveWindow)
	a, err := e.await(ctx, d)
	if err != nil && peer.session != nil {
		peer.session.abandon()
	}
	return a, err
}

// reach makes the link ready for a peer: a plain one lets its answers through, DTLS sets a session up.
func (e *Endpoint) reach(ctx context.Context, link int, to netip.AddrPort) (place, error) {
	at := place{Peer: Peer{Addr: to}, link: uint8(link)}
	if l, ok := e.links[link].(connecting); ok {
		peer, err := l.connect(ctx, to)
		if err != nil {
			return place{}, err
		}
		at.Peer = peer
	}
	return at, nil
}

// await repeats the packet that waits for its answer (timer T1 of RFC 9260 sections 5.1 and 5.1.6).
func (e *Endpoint) await(ctx context.Context, d *dialing) (*Association, error) {
	timeout, sent := e.cfg.InitTimeout, 1
	e.send(d.current(), d.peer)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		select {
		case result := <-d.done:
			return result.association, result.err
		case <-d.advanced:
			timeout, sent = e.cfg.InitTimeout, 1
			e.send(d.current(), d.peer)
			timer.Reset(timeout)
		case <-timer.C:
			if sent > e.cfg.MaxInitRetransmits {
				return e.giveUp(d, fmt.Errorf("no answer to %d %ss%s", sent, d.progress(), e.perhaps(d)))
			}
			sent++
			e.send(d.current(), d.peer)
			timeout = min(2*timeout, e.cfg.RTOMax)
			timer.Reset(timeout)
		case <-ctx.Done():
			return e.giveUp(d, fmt.Errorf("no answer to %d %ss%s: %w", sent, d.progress(), e.perhaps(d), ctx.Err()))
		case <-d.peer.ended():
			return e.giveUp(d, fmt.Errorf("the DTLS session ended: %w", handshakeError(d.peer.session.why())))
		case <-e.ended:
			return e.giveUp(d, errRefusing)
		}
	}
}

// perhaps is what a person should think of when a peer did not even answer INIT. Over DTLS its session has answered before.
func (e *Endpoint) perhaps(d *dialing) string {
	if mode := e.links[d.peer.link].Mode(); d.progress() == cookieWait && mode != ModeDTLS {
		return " " + mode.Silence()
	}
	return ""
}

// giveUp ends a handshake with an error; one that was completed meanwhile is aborted.
func (e *Endpoint) giveUp(d *dialing, err error) (*Association, error) {
	if !e.table.removeDialing(d) {
		if result := <-d.done; result.err == nil {
			result.association.Abort("dial given up")
		}
	}
	return nil, err
}

// begin makes INIT the packet to send, unless the peer, which may have learnt our tag by an INIT of its own, was quicker.
func (d *dialing) begin(window uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sending == nil {
		d.sending = d.initPacket(window)
	}
}

func (d *dialing) tuple() tuple {
	return tuple{peer: d.peer, peerPort: d.peerPort, localPort: d.localPort}
}

func (d *dialing) hasPorts(h packet.Header) bool {
	return h.SourcePort == d.peerPort && h.DestinationPort == d.localPort
}

func (d *dialing) tags() *tags {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &tags{local: d.localTag, peer: d.terms.peerTag}
}

// knows reports whether the peer's tag is known and this.
func (d *dialing) knows(tag uint32) bool { return tag != 0 && d.tags().peer == tag }

func (d *dialing) current() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sending
}

func (d *dialing) progress() dialState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

func (d *dialing) header(tag uint32) []byte {
	h := packet.Header{SourcePort: d.localPort, DestinationPort: d.peerPort, VerificationTag: tag}
	return h.Append(make([]byte, 0, 256))
}

func (d *dialing) initPacket(window uint32) []byte {
	init := offer{tag: d.localTag, window: window, tsn: d.localTSN, outbound: d.streams, inbound: d.streams}
	return init.append(d.header(0), packet.TypeInit)
}
