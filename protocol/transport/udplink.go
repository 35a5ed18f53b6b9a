package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

const socketBuffer = 4 << 20 // bytes; the kernel may grant less

// UDPLink is UDP encapsulation (RFC 6951): each datagram is an SCTP packet. The socket is not connected, so that an
// ICMP error of one peer disturbs no other.
//
// Nothing proves who the peer is, so only those of listed networks are heard.
type UDPLink struct {
	socket *net.UDPConn // static
	batch  *batch       // owned by who reads
	bulk   *bulk        // owned by who writes many packets at once

	allowed allowed
	count   counters
}

// ListenUDP binds a UDP socket; port 0 takes a free one. IANA's port for the encapsulation is 9899. Packets from outside
// the allowed networks are dropped unread, and count as ForeignSources; without any only the machine's own loopback is
// allowed. Who was dialled over the link may always answer.
func ListenUDP(addr netip.AddrPort, allow ...netip.Prefix) (*UDPLink, error) {
	socket, err := listenSocket(addr)
	if err != nil {
		return nil, fmt.Errorf("listen for SCTP over UDP on %s: %w", addr, err)
	}
	reading, err1 := newBatch(socket)
	writing, err2 := newBulk(socket)
	if err := errors.Join(err1, err2); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for SCTP over UDP on %s: %w", addr, err), socket.Close())
	}
	l := &UDPLink{socket: socket, batch: reading, bulk: writing}
	l.allowed.set(allow)
	return l, nil
}

func listenSocket(addr netip.AddrPort) (*net.UDPConn, error) {
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(socket.SetReadBuffer(socketBuffer), socket.SetWriteBuffer(socketBuffer)); err != nil {
		return nil, errors.Join(fmt.Errorf("size the buffers: %w", err), socket.Close())
	}
	return socket, nil
}

// Mode implements Link.
func (l *UDPLink) Mode() Mode { return ModeUDP }

// ReadPacket implements Link.
func (l *UDPLink) ReadPacket(b []byte) (int, Peer, error) {
	for {
		n, from, err := l.socket.ReadFromUDPAddrPort(b)
		peer := Peer{Addr: unmapped(from)}
		if err != nil || l.allows(peer.Addr.Addr()) {
			return n, peer, err
		}
		l.count.add(ForeignSources)
	}
}

func (l *UDPLink) connect(_ context.Context, to netip.AddrPort) (Peer, error) { //nolint:unparam // as others may
	l.allowed.dial(to.Addr())
	return Peer{Addr: to}, nil
}

func (l *UDPLink) allows(addr netip.Addr) bool { return l.allowed.allows(addr) }

// WritePacket implements Link.
func (l *UDPLink) WritePacket(b []byte, to Peer) error {
	_, err := l.socket.WriteToUDPAddrPort(b, to.Addr)
	return err
}

// LocalAddr implements Link.
func (l *UDPLink) LocalAddr() netip.AddrPort { return boundAddr(l.socket) }

// Close implements Link.
func (l *UDPLink) Close() error { return l.socket.Close() }

func (l *UDPLink) tally() *counters { return &l.count }

func boundAddr(socket *net.UDPConn) netip.AddrPort {
	bound, _ := socket.LocalAddr().(*net.UDPAddr)
	return unmapped(bound.AddrPort())
}

// unmapped is an address that is never an IPv4-mapped IPv6 address.
func unmapped(addr netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}
