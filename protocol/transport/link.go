package transport

import (
	"context"
	"net/netip"
)

// Link moves SCTP packets between this endpoint and its peers. Its methods may be called from several goroutines.
type Link interface {
	// Mode is how the packets travel.
	Mode() Mode
	// ReadPacket waits for a packet and copies it to b. The error is net.ErrClosed after Close; other errors are passing.
	ReadPacket(b []byte) (int, Peer, error)
	// WritePacket sends a packet; it keeps nothing of b.
	WritePacket(b []byte, to Peer) error
	// LocalAddr is the address bound.
	LocalAddr() netip.AddrPort
	// Close ends a ReadPacket that waits.
	Close() error
}

// What a Link may be besides.
type (
	// connecting links have to get ready for a peer before the first packet to it.
	connecting interface {
		connect(ctx context.Context, to netip.AddrPort) (Peer, error)
	}
	// batching links read many packets at once.
	batching interface {
		readPackets(handle func(b []byte, from Peer)) error
	}
	// bulkWriting links write many packets at once. writePackets keeps nothing of them, and tells how many went, and their bytes.
	// One goroutine at a time calls it.
	bulkWriting interface {
		writePackets(p *parcel) (packets, bytes int)
	}
	// working links have work of their own until Close; run returns nil then.
	working interface{ run() error }
	// choosy links hear only some addresses; nothing is sent to the others.
	choosy interface{ allows(addr netip.Addr) bool }
	// counting links count what they drop before the endpoint sees it.
	counting interface{ tally() *counters }
)
