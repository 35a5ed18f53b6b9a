package transport

import (
	"encoding/binary"

	"skyring/protocol/transport/packet"
)

// rewriteOutbound turns a packet of pion's into one for the peer: the association's ports, and streams for lanes. On the
// way it learns what pion tells the peer of the window, and why pion aborts.
func (a *Association) rewriteOutbound(b []byte) {
	binary.BigEndian.PutUint16(b, a.localPort)
	binary.BigEndian.PutUint16(b[2:], a.peerPort)
	for offset := packet.HeaderLen; offset < len(b); {
		c, next, err := packet.ChunkAt(b, offset)
		if err != nil {
			return // pion writes none such
		}
		switch c.Type { //nolint:exhaustive // the others go as they are
		case packet.TypeData:
			fromLane(c.Raw)
		case packet.TypeSack:
			if a.window.advertise(binary.BigEndian.Uint32(c.Value), binary.BigEndian.Uint32(c.Value[4:])) {
				a.endpoint.count.add(ShutWindows)
			}
		case packet.TypeShutdownAck:
			a.shutdownAcked.Store(true)
		case packet.TypeReconfig:
			a.noteAnswers(c)
		case packet.TypeAbort:
			detail := describeCauses(c.Value)
			if a.violation.CompareAndSwap(nil, &detail) {
				a.endpoint.count.add(ProtocolAborts)
			}
		}
		offset = next
	}
}
