package transport

import (
	"errors"
	"fmt"

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
			e.onInitAck(d, c)
			return
		case c.Type == packet.TypeCookieAck && d.progress() == cookieEchoed:
			if a := e.complete(d, d.agreed()); a != nil && next < len(in.b) {
				a.input(in, next)
			}
			return
		case c.Type == packet.TypeAbort:
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

// onInitAck has Dial send the cookie back, with a report of parameters that we did not recognise.
func (e *Endpoint) onInitAck(d *dialing, c packet.Chunk) {
	if d.progress() != cookieWait {
		e.count.add(BadInits)
		return
	}
	peer, err := readInit(c)
	if refusal := (*initError)(nil); errors.As(err, &refusal) {
		e.send(appendAbort(d.header(peer.tag), refusal.cause, refusal.value[:min(len(refusal.value), maxUnrecognised)]), d.peer)
		e.fail(d, fmt.Errorf("its INIT-ACK cannot be used: %w", err))
		return
	}
	if err != nil {
		e.count.add(BadInits)
		return
	}
	echo := packet.AppendChunk(d.header(peer.tag), packet.TypeCookieEcho, 0, peer.cookie)
	if len(peer.unrecognised) > 0 {
		echo = appendError(echo, causeUnrecognisedParams, peer.unrecognised)
	}
	d.mu.Lock()
	d.state, d.sending = cookieEchoed, echo
	d.terms = terms{
		peer: d.peer, localPort: d.localPort, peerPort: d.peerPort, localTag: d.localTag, peerTag: peer.tag,
		localTSN: d.localTSN, peerTSN: peer.tsn, peerWindow: peer.window, forwardTSN: peer.forwardTSN,
		in: min(d.streams, peer.outbound), out: min(d.streams, peer.inbound), named: e.usable(peer.addresses, d.peer),
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
	if !e.table.removeDialing(d) {
		return nil
	}
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
