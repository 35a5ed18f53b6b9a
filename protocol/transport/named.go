package transport

import (
	"net/netip"
	"slices"
)

// maxNamed is how many addresses of a peer's are kept, besides the one that its handshake comes from. It bounds the cookie,
// and the heartbeats that someone can have sent to addresses of others.
const maxNamed = 8

// usable are the addresses named in INIT or INIT-ACK that may become paths to a peer at from (RFC 9260 section 5.1.2): of
// the link's families, from the networks that it hears, and none that means another host to us than to the peer. A DTLS
// session has no paths but its own.
func (e *Endpoint) usable(named []netip.Addr, from place) (list []netip.Addr) {
	if from.session != nil {
		return nil
	}
	link := e.links[from.link]
	local := link.LocalAddr().Addr()
	for _, addr := range named {
		if len(list) == maxNamed {
			break
		}
		if addr == from.Addr.Addr() || slices.Contains(list, addr) || !inScope(addr, from.Addr.Addr()) || !spoken(addr, local) {
			continue
		}
		if l, ok := link.(choosy); ok && !l.allows(addr) {
			continue
		}
		list = append(list, addr)
	}
	return list
}

// inScope tells whether an address that a peer names means the same host here as there.
func inScope(addr, from netip.Addr) bool {
	switch {
	case addr.IsUnspecified(), addr.IsMulticast(), addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return false
	case addr.IsLoopback():
		return from.IsLoopback()
	case addr.IsLinkLocalUnicast():
		return addr.Is4() && from.Is4() && from.IsLinkLocalUnicast() // of IPv6 the interface is not known
	}
	return true
}

// spoken tells whether a socket bound to local can send to an address.
func spoken(addr, local netip.Addr) bool {
	return addr.Is4() == local.Is4() || addr.Is4() && local == netip.IPv6Unspecified()
}
