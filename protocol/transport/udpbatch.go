package transport

import (
	"net"

	"golang.org/x/net/ipv4"
)

// readBatch is how many datagrams are taken from the kernel at once: in a flood, and with many busy associations, most of a
// packet's cost is the system call.
const readBatch = 32

// batch are the buffers of the goroutine that reads a UDP link.
type batch struct {
	socket   *ipv4.PacketConn // reads IPv6 as well
	messages []ipv4.Message
}

func newBatch(socket *net.UDPConn) *batch {
	b := &batch{socket: ipv4.NewPacketConn(socket), messages: make([]ipv4.Message, readBatch)}
	buffer := make([]byte, readBatch*datagramRoom) // the kernel gives its pages when they are written, seldom all
	for i := range b.messages {
		b.messages[i].Buffers = [][]byte{buffer[i*datagramRoom : (i+1)*datagramRoom]}
	}
	return b
}

const datagramRoom = 1 << 16 // the longest datagram

// readPackets waits for packets and has each handled; its bytes are the link's again after that. The error is as
// ReadPacket's. One goroutine at a time may call it.
func (l *UDPLink) readPackets(handle func(b []byte, from Peer)) error {
	n, err := l.batch.socket.ReadBatch(l.batch.messages, 0)
	if err != nil {
		return err
	}
	for i := range l.batch.messages[:n] {
		m := &l.batch.messages[i]
		from, ok := m.Addr.(*net.UDPAddr)
		if !ok {
			continue
		}
		peer := Peer{Addr: unmapped(from.AddrPort())}
		if !l.allows(peer.Addr.Addr()) {
			l.count.add(ForeignSources)
			continue
		}
		handle(m.Buffers[0][:m.N], peer)
	}
	return nil
}
