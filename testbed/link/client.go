package link

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// client is an address that sends to the front, and the socket behind which the target sees it.
type client struct {
	addr netip.AddrPort // static

	// guarded by the emulator's mu
	flows  [ways]flow
	socket *net.UDPConn
	heard  time.Duration // when it or the target last sent something
}

// clientAt finds the client of an address, or takes it in. nil, with the reason, when there is no place for it. The
// caller holds mu.
func (e *Emulator) clientAt(addr netip.AddrPort) (*client, Reason) {
	if c := e.clients[addr]; c != nil {
		return c, 0
	}
	if len(e.clients) >= e.cfg.MaxClients || e.closed {
		return nil, TooManyClients
	}
	socket, err := listen(netip.AddrPortFrom(unspecified(e.cfg.Target.Addr()), 0))
	if err != nil {
		e.log.Warn().Err(err).Stringer("client", addr).Msg("client not relayed")
		return nil, NoSocket
	}
	number := uint64(e.stats.Seen)
	e.stats.Seen++
	c := &client{addr: addr, socket: socket}
	c.flows[ToTarget].client, c.flows[ToClient].client = number, number
	e.clients[addr] = c
	e.tasks.Go(func() { e.readBack(c, socket) })
	return c, 0
}

func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// socketBuffer is what the kernel may hold for a socket that clients share; it may grant less.
const socketBuffer = 4 << 20

func listen(addr netip.AddrPort) (*net.UDPConn, error) {
	network := "udp"
	if addr.Addr().Is4() {
		network = "udp4"
	}
	socket, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return nil, fmt.Errorf("open a UDP socket on %s: %w", addr, err)
	}
	return socket, nil
}

// renew gives a client another port at the target. When no socket can be had, it keeps the one it has. The caller holds
// mu.
func (e *Emulator) renew(c *client) {
	socket, err := listen(netip.AddrPortFrom(unspecified(e.cfg.Target.Addr()), 0))
	if err != nil {
		e.log.Warn().Err(err).Stringer("client", c.addr).Msg("client keeps its port")
		return
	}
	_ = c.socket.Close() // ends its reader
	c.socket = socket
	e.tasks.Go(func() { e.readBack(c, socket) })
}

// sweep gives the ports of silent clients back. The caller holds mu.
func (e *Emulator) sweep(now time.Duration) {
	for addr, c := range e.clients {
		if now-c.heard >= e.cfg.ClientIdle {
			_ = c.socket.Close()
			delete(e.clients, addr)
		}
	}
}
