package transport

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Link moves SCTP packets between this endpoint and its peers. Its methods may be called from several goroutines.
type Link interface {
	// ReadPacket waits for a packet and copies it to b; its address is never an IPv4-mapped IPv6 address. The error is
	// net.ErrClosed after Close; other errors are passing.
	ReadPacket(b []byte) (int, netip.AddrPort, error)
	// WritePacket sends a packet; it keeps nothing of b.
	WritePacket(b []byte, to netip.AddrPort) error
	// LocalAddr is the address bound.
	LocalAddr() netip.AddrPort
	// Close ends a ReadPacket that waits.
	Close() error
}

const socketBuffer = 4 << 20 // bytes; the kernel may grant less

// UDPLink is UDP encapsulation (RFC 6951): each datagram is an SCTP packet. The socket is not connected, so that an
// ICMP error of one peer disturbs no other.
type UDPLink struct{ socket *net.UDPConn }

// ListenUDP binds a UDP socket; port 0 takes a free one. IANA's port for the encapsulation is 9899.
func ListenUDP(addr netip.AddrPort) (*UDPLink, error) {
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return nil, fmt.Errorf("listen for SCTP over UDP on %s: %w", addr, err)
	}
	if err := errors.Join(socket.SetReadBuffer(socketBuffer), socket.SetWriteBuffer(socketBuffer)); err != nil {
		return nil, errors.Join(fmt.Errorf("size the buffers of UDP %s: %w", addr, err), socket.Close())
	}
	return &UDPLink{socket: socket}, nil
}

// ReadPacket implements Link.
func (l *UDPLink) ReadPacket(b []byte) (int, netip.AddrPort, error) {
	n, from, err := l.socket.ReadFromUDPAddrPort(b)
	return n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), err
}

// WritePacket implements Link.
func (l *UDPLink) WritePacket(b []byte, to netip.AddrPort) error {
	_, err := l.socket.WriteToUDPAddrPort(b, to)
	return err
}

// LocalAddr implements Link.
func (l *UDPLink) LocalAddr() netip.AddrPort {
	bound, _ := l.socket.LocalAddr().(*net.UDPAddr)
	addr := bound.AddrPort()
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}

// Close implements Link.
func (l *UDPLink) Close() error { return l.socket.Close() }
