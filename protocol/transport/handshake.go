package transport

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"skyring/protocol/transport/packet"
)

// advance takes a packet to a handshake that we began. It runs on the goroutine that reads the link.
func (e *Endpoint) advance(d *dialing, in *inbound) {
	for offset := packet.HeaderLen; offset < len(in.b); {
		c, next, err := packet.ChunkAt(in.b, offset)
		if err != nil {
			e.count.add(MalformedPackets)
			return
		}
		switch {
		case c.Type == packet.TypeInitAck:
			e.onInitAck(d, c, in.from)
			return
		case c.Type == packet.TypeCookieAck && d.progress() == cookieEchoed:
			if a := e.complete(d, d.agreed()); a != nil && next < len(in.b) {
				a.input(in, next)
			}
			return
		case c.Type == packet.TypeAbort && c.Flags&flagT == 0: // with it the tag would be the peer's
			e.fail(d, refusedBy(c))
			return
		case c.Type == packet.TypeError && hasCause(c.Value, causeStaleCookie):
			e.onStaleCookie(d)
		default:
			e.count.add(UnwantedChunks) // DATA that overtook COOKIE-ACK: the peer repeats it
		}
		offset = next
	}
}

// isPeer tells whether a packet with the handshake's tag is the peer's. It may come from another address than we dialled: an
// INIT-ACK from any, as long as it names the one that we dialled (RFC 9260 section 5.1.2, D), and what follows from any that
// INIT-ACK named, as a host with several addresses may send from whichever its routes prefer.
func (d *dialing) isPeer(from place, first packet.Chunk) bool {
	if from == d.peer {
		return true
	}
	if from.link != d.peer.link || from.session != nil || d.peer.session != nil || from.Addr.Port() != d.peer.Addr.Port() {
		return false
	}
	if first.Type == packet.TypeInitAck {
		peer, err := readInit(first)
		return err == nil && slices.Contains(peer.addresses, d.peer.Addr.Addr())
	}
	return slices.Contains(d.agreed().named, from.Addr.Addr())
}

// onInitAck has Dial send the cookie back, with a report of parameters that we did not recognise.
func (e *Endpoint) onInitAck(d *dialing, c packet.Chunk, from place) {
	if d.progress() != cookieWait {
		e.count.add(BadInits)
		return
	}
	peer, err := readInit(c)
	if err != nil { // RFC 9260 section 3.3.3: it ends the handshake
		e.count.add(BadInits)
		if refusal := (*initError)(nil); errors.As(err, &refusal) {
			e.send(appendAbort(d.header(peer.tag), refusal.cause, refusal.value[:min(len(refusal.value), maxUnrecognised)]), d.peer)
		}
		e.fail(d, fmt.Errorf("its INIT-ACK cannot be used: %w", err))
		return
	}
	echo := packet.AppendChunk(d.header(peer.tag), packet.TypeCookieEcho, 0, peer.cookie)
	if len(peer.unrecognised) > 0 {
		echo = appendError(echo, causeUnrecognisedParams, peer.unrecognised)
	}
	named := append([]netip.Addr{from.Addr.Addr()}, peer.addresses...) // it has that address, named or not
	d.mu.Lock()
	d.state, d.sending = cookieEchoed, echo
	d.terms = terms{
		peer: d.peer, localPort: d.localPort, peerPort: d.peerPort, localTag: d.localTag, peerTag: peer.tag,
		localTSN: d.localTSN, peerTSN: peer.tsn, peerWindow: peer.window, forwardTSN: peer.forwardTSN,
		in: min(d.streams, peer.outbound), out: min(d.streams, peer.inbound), named: e.usable(named, d.peer),
	}
	d.mu.Unlock()
	d.notify()
}

// onStaleCookie begins anew with INIT (RFC 9260 section 5.2.6).
func (e *Endpoint) onStaleCookie(d *dialing) {
	if d.progress() != cookieEchoed {
		return
	}
	d.mu.Lock()
	d.stale++
	tooOften := d.stale > maxStaleCookies
	d.state, d.sending, d.terms = cookieWait, d.initPacket(e.cfg.ReceiveWindow), terms{}
	d.mu.Unlock()
	if tooOften {
		e.fail(d, errors.New("the peer finds its cookies too old"))
		return
	}
	d.notify()
}

// complete turns a handshake into an association and hands it to Dial; nil when Dial has given up, or on an error, which
// Dial gets.
func (e *Endpoint) complete(d *dialing, t terms) *Association {
	if !e.table.claimDialing(d) {
		return nil
	}
	defer e.table.releaseDialing(d)
	a, err := e.establish(t, byDial)
	if err != nil {
		e.send(appendAbort(d.header(t.peerTag), causeOutOfResource, nil), d.peer)
		d.done <- dialResult{err: err}
		return nil
	}
	e.count.add(AssociationsDialled)
	d.done <- dialResult{association: a}
	return a
}

// fail ends a handshake with an error for Dial.
func (e *Endpoint) fail(d *dialing, err error) {
	if e.table.removeDialing(d) {
		d.done <- dialResult{err: err}
	}
}

func refusedBy(abort packet.Chunk) error {
	if causes := describeCauses(abort.Value); causes != "" {
		return fmt.Errorf("%w: ABORT: %s", ErrRefused, causes)
	}
	return fmt.Errorf("%w: ABORT without a cause, as of an SCTP port that nobody serves", ErrRefused)
}

func (d *dialing) agreed() terms {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.terms
}

func (d *dialing) notify() {
	select {
	case d.advanced <- struct{}{}:
	default:
	}
}
