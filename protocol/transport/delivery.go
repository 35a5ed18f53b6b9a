package transport

import (
	"encoding/binary"

	"skyring/protocol/transport/packet"
)

// maxChunk is the longest chunk that fits a packet for pion.
const maxChunk = (maxPacket - packet.HeaderLen) &^ 3

// delivery is what of a packet goes to pion: as one packet, or as several where the peer's was longer than pion reads.
type delivery struct {
	association *Association
	in          *inbound
	out         *packetBuffer // nil before the first chunk
	hasData     bool
}

// add appends a chunk of at most maxChunk bytes, and gives pion's copy of it.
func (d *delivery) add(c packet.Chunk) []byte {
	if d.out != nil && len(d.out.b)+len(c.Raw) > maxPacket {
		d.queue()
	}
	if d.out == nil {
		d.out = d.association.endpoint.borrow()
		d.out.b = append(d.out.b[:0], d.in.b[:packet.HeaderLen]...)
		binary.BigEndian.PutUint32(d.out.b[8:], 0) // checked; pion takes 0 for right
	}
	begin := len(d.out.b)
	d.out.b = appendPadded(d.out.b, c.Raw)
	d.hasData = d.hasData || c.Type == packet.TypeData
	return d.out.b[begin:]
}

func appendPadded(dst, raw []byte) []byte {
	dst = append(dst, raw...)
	return append(dst, []byte{0, 0, 0}[:-len(raw)&3]...) // pion refuses padding that is missing or not 0
}

// queue gives pion what there is.
func (d *delivery) queue() {
	a, out := d.association, d.out
	if out == nil {
		return
	}
	d.out = nil
	if a.isDone() {
		a.endpoint.packets.Put(out)
		return
	}
	if d.hasData {
		d.hasData = false
		a.window.hold(out.b)
		if d.in.proven {
			a.paths.heardFrom(d.in.from)
		}
	}
	if !a.conn.inbox.put(out) {
		a.endpoint.packets.Put(out)
		a.endpoint.count.add(QueueOverflows)
	}
}

// drop forgets what is not queued.
func (d *delivery) drop() {
	if d.out != nil {
		d.association.endpoint.packets.Put(d.out)
		d.out = nil
	}
}
