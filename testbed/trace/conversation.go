package trace

import (
	"net/netip"
	"slices"
	"time"

	"skyring/protocol/transport/packet"
)

// maxTags are kept of one end: a server may answer each copy of an INIT with a tag of its own (RFC 9260 section 5.1.3).
const maxTags = 8

// maxAddrs are kept of one end.
const maxAddrs = 32

// side is one end of a conversation: 0, which sent the first packet, or 1.
type side uint8

func (s side) other() side { return 1 - s }

// end is an endpoint in the making.
type end struct {
	port  uint16
	addrs []netip.AddrPort // with the UDP port, 0 over IP
	tags  []uint32         // that it chose: packets to it carry one of them
	sends direction
}

func (e *end) knows(addr netip.AddrPort) bool { return slices.Contains(e.addrs, addr) }

func (e *end) learn(addr netip.AddrPort) {
	if len(e.addrs) < maxAddrs && !e.knows(addr) {
		e.addrs = append(e.addrs, addr)
	}
}

// conversation is an association in the making.
type conversation struct {
	ends    [2]end
	packets uint64
	start   time.Time
	stop    time.Time

	client       side // valid once clientKnown
	clientKnown  bool
	initSeen     [2]bool // who sent INIT
	acknowledged bool    // INIT-ACK was captured
	ending       Ending
}

// pending tells whether a side asked for the association and the other has not answered.
func (c *conversation) pending(s side) bool {
	return c.initSeen[s] && !c.initSeen[s.other()] && !c.acknowledged && c.ending == EndingNone && !c.hasData()
}

func (c *conversation) hasData() bool {
	return len(c.ends[0].sends.fragments)+len(c.ends[1].sends.fragments) > 0
}

func (c *conversation) setClient(s side) {
	if !c.clientKnown {
		c.client, c.clientKnown = s, true
	}
}

// sideOf tells which end sends from src:port. Both ends may be alike, then it is end 0.
func (c *conversation) sideOf(src netip.AddrPort, port uint16) (side, bool) {
	for s := range c.ends {
		if c.ends[s].port == port && c.ends[s].knows(src) {
			return side(s), true
		}
	}
	return 0, false
}

// hasRoom tells whether both addresses of a path are or can be remembered.
func (c *conversation) hasRoom(from side, p path) bool {
	src, dst := &c.ends[from], &c.ends[from.other()]
	return (src.knows(p.src) || len(src.addrs) < maxAddrs) && (dst.knows(p.dst) || len(dst.addrs) < maxAddrs)
}

// note takes the control chunks that tell of roles and of the end.
func (c *conversation) note(from side, chunk packet.Chunk) {
	switch chunk.Type { //nolint:exhaustive // the rest tells nothing of roles
	case packet.TypeCookieEcho:
		c.setClient(from)
	case packet.TypeCookieAck:
		c.setClient(from.other())
	case packet.TypeAbort:
		if c.ending == EndingNone {
			c.ending = EndingAbort
		}
	case packet.TypeShutdownComplete:
		c.ending = EndingShutdown
	}
}

// roles tells client and server apart: handshake, else port, else who was first.
func (c *conversation) roles() (client side, role Role) {
	if c.clientKnown {
		return c.client, RoleHandshake
	}
	rank := [2]int{portRank(c.ends[0].port), portRank(c.ends[1].port)}
	switch {
	case rank[0] > rank[1]:
		return 1, RolePort
	case rank[0] < rank[1]:
		return 0, RolePort
	}
	return 0, RoleFirst
}

// endpoint is the end as it is told to others.
func (e *end) endpoint() Endpoint {
	out := Endpoint{Port: e.port}
	if len(e.tags) > 0 {
		out.Tag = e.tags[0]
	}
	for _, addr := range e.addrs {
		if !slices.Contains(out.Addrs, addr.Addr()) {
			out.Addrs = append(out.Addrs, addr.Addr())
		}
		if out.UDPPort == 0 {
			out.UDPPort = addr.Port()
		}
	}
	return out
}
