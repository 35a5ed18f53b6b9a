package transport

import (
	"net/netip"

	"skyring/protocol/identity"
)

// Peer is where packets of a Link come from and go to: a UDP address, and on a DTLS link the session there. Two that are
// equal are the same.
type Peer struct {
	// Addr is never an IPv4-mapped IPv6 address. Of a session it is where that began: its datagrams follow the peer to
	// another address without this changing.
	Addr netip.AddrPort

	session *session // nil on a plain link
}

// address is where the peer is now.
func (p Peer) address() netip.AddrPort {
	if p.session != nil {
		return p.session.address()
	}
	return p.Addr
}

// ended is closed when the peer's session has ended; nil without a session.
func (p Peer) ended() <-chan struct{} {
	if p.session != nil {
		return p.session.done
	}
	return nil
}

// identity is what the peer has proven; zero on a plain link.
func (p Peer) identity() identity.Identity {
	if p.session != nil {
		return p.session.identity
	}
	return identity.Identity{}
}

// number tells the sessions of a link apart; 0 is none.
func (p Peer) number() uint64 {
	if p.session != nil {
		return p.session.number
	}
	return 0
}

// place is a peer on one of the endpoint's links.
type place struct {
	Peer

	link uint8 // index in the endpoint's links
}

// near reports whether another place may be the same peer's, whose UDP port has changed. A session is its own place, so
// that what one identity has set up is never carried on by another.
func (p place) near(other place) bool {
	return p.link == other.link && p.session == nil && other.session == nil && p.Addr.Addr() == other.Addr.Addr()
}

// Arrival says which listener an association belongs to.
type Arrival struct {
	Mode    Mode
	Address netip.AddrPort // the local address that is bound
}

// Arrival is the listener by which the association came, or over which it was dialled.
func (a *Association) Arrival() Arrival {
	link := a.endpoint.links[a.paths.place().link]
	return Arrival{Mode: link.Mode(), Address: link.LocalAddr()}
}

// Identity is what the peer has proven to be, and which stations it may speak for; zero on a plain link. It is that of
// the DTLS session in which the association was set up, and the association ends with that session: no port change and
// no restart gives it another.
func (a *Association) Identity() identity.Identity { return a.peer.identity() }
