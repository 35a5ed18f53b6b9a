package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
)

const protocolSCTP = "132" // IANA's number of SCTP as an IP protocol

// IPLink is SCTP as it is, IP protocol 132, over a raw socket. There are no UDP ports: those of its peers, and its own, are
// 0. As over plain UDP, nothing proves who the peer is, so only those of listed networks are heard.
type IPLink struct {
	// static
	socket *net.IPConn
	local  netip.Addr

	allowed allowed
	count   counters
}

// ListenIP opens a raw socket at one of this machine's addresses; it takes CAP_NET_RAW. The networks are as for ListenUDP.
// It is refused while the kernel's own SCTP is loaded, which hears the same packets and answers each INIT with ABORT.
//
// The address must be one, not all: answers must come from where the peer sent to, and what we send ourselves, which a raw
// socket hears too where both ends are on this machine, is known by its source.
func ListenIP(addr netip.Addr, allow ...netip.Prefix) (*IPLink, error) {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() {
		return nil, fmt.Errorf("listen for SCTP over IP on %s: want one of this machine's addresses", addr)
	}
	if err := kernelSilent("/"); err != nil {
		return nil, fmt.Errorf("listen for SCTP over IP on %s: %w", addr, err)
	}
	network := "ip4:" + protocolSCTP
	if addr.Is6() {
		network = "ip6:" + protocolSCTP
	}
	socket, err := net.ListenIP(network, &net.IPAddr{IP: addr.AsSlice(), Zone: addr.Zone()})
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("listen for SCTP over IP on %s: a raw socket takes the capability CAP_NET_RAW, which this process "+
			"lacks: give it by AmbientCapabilities= of its unit or by setcap, or use UDP or DTLS: %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for SCTP over IP on %s: %w", addr, err)
	}
	if err := errors.Join(socket.SetReadBuffer(socketBuffer), socket.SetWriteBuffer(socketBuffer)); err != nil {
		return nil, errors.Join(fmt.Errorf("size the buffers: %w", err), socket.Close())
	}
	l := &IPLink{socket: socket, local: addr}
	l.allowed.set(allow)
	return l, nil
}

// kernelSilent reports an error when the kernel's own SCTP is loaded. Where it could be, but is not, nobody may ask for it
// by opening such a socket: that loads it.
func kernelSilent(root string) error {
	for _, sign := range []string{"proc/net/sctp", "sys/module/sctp"} {
		if _, err := os.Stat(filepath.Join(root, sign)); err == nil {
			return fmt.Errorf("the kernel's own SCTP is loaded (/%s is there) and would answer the same packets: unload it "+
				"(modprobe -r sctp) and keep it from loading, or use UDP or DTLS", sign)
		}
	}
	return nil
}

// Mode implements Link.
func (l *IPLink) Mode() Mode { return ModeIP }

// ReadPacket implements Link.
func (l *IPLink) ReadPacket(b []byte) (int, Peer, error) {
	for {
		n, addr, err := l.socket.ReadFromIP(b)
		if err != nil {
			return n, Peer{}, err
		}
		from, _ := netip.AddrFromSlice(addr.IP)
		from = from.Unmap().WithZone(addr.Zone)
		switch {
		case from == l.local:
			l.count.add(OwnPackets)
		case !l.allowed.allows(from):
			l.count.add(ForeignSources)
		default:
			return n, Peer{Addr: netip.AddrPortFrom(from, 0)}, nil
		}
	}
}

// WritePacket implements Link.
func (l *IPLink) WritePacket(b []byte, to Peer) error {
	addr := to.Addr.Addr()
	_, err := l.socket.WriteToIP(b, &net.IPAddr{IP: addr.AsSlice(), Zone: addr.Zone()})
	return err
}

func (l *IPLink) connect(_ context.Context, to netip.AddrPort) (Peer, error) {
	if to.Addr() == l.local {
		return Peer{}, errors.New("over IP, both ends cannot have the same address")
	}
	l.allowed.dial(to.Addr())
	return Peer{Addr: to}, nil
}

func (l *IPLink) allows(addr netip.Addr) bool { return l.allowed.allows(addr) }

// LocalAddr implements Link; the port is 0.
func (l *IPLink) LocalAddr() netip.AddrPort { return netip.AddrPortFrom(l.local, 0) }

// Close implements Link.
func (l *IPLink) Close() error { return l.socket.Close() }

func (l *IPLink) tally() *counters { return &l.count }
