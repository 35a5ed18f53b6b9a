package transport

import (
	"encoding/binary"

	"skyring/protocol/transport/packet"
)

// maxChunk is the longest chunk that fits a packet for pion.
const maxChunk = (maxPacket - packet.HeaderLen) &^ 3

// maxBallast is how many bytes that pion does not keep may share a packet with DATA. pion holds a packet as long as one message of
// it waits to be read or completed, and counts that message only: a byte of new data among repetitions would hold thousands.
const maxBallast = 128

// delivery is what of a packet goes to pion: as one packet, or as several where the peer's was longer than pion reads, or
// where DATA came with much that is none, or that came before.
// Chunks that follow one another in the peer's packet are copied together.
type delivery struct {
	association *Association
	in          *inbound
	begin, end  int           // of the chunks in the peer's packet that are to be copied next, padding included
	out         *packetBuffer // nil before the first are
	hasData     bool
	ballast     int // bytes that pion does not keep
}

// add takes the chunk at an offset of the peer's packet, of at most maxChunk bytes; the next one starts at next. The caller
// holds the intake's mu.
func (d *delivery) add(c packet.Chunk, offset, next int) {
	ballast := next - offset
	if c.Type == packet.TypeData && d.association.intake.isNew(c) {
		ballast = 0
	}
	if d.ballast+ballast > maxBallast && (d.hasData || c.Type == packet.TypeData) {
		d.queue()
	}
	d.ballast += ballast
	if offset != d.end {
		d.copy()
		d.begin = offset
	}
	if d.length()+next-offset > maxPacket {
		d.queue()
		d.begin, d.ballast = offset, ballast
	}
	clear(d.in.b[offset+len(c.Raw) : next]) // pion refuses padding that is not 0
	d.end = next
	d.hasData = d.hasData || c.Type == packet.TypeData
}

// length is how long the packet for pion is so far.
func (d *delivery) length() int {
	n := packet.HeaderLen
	if d.out != nil {
		n = len(d.out.b)
	}
	return n + d.end - d.begin
}

// copy moves what was added into pion's packet.
func (d *delivery) copy() {
	chunks := d.in.b[d.begin:d.end]
	if d.begin = d.end; len(chunks) == 0 {
		return
	}
	if d.out == nil {
		d.out = d.association.endpoint.borrow()
		d.out.b = append(d.out.b[:0], d.in.b[:packet.HeaderLen]...)
		binary.BigEndian.PutUint32(d.out.b[8:], 0) // checked; pion takes 0 for right
	}
	d.out.b = append(d.out.b, chunks...)
	d.out.b = append(d.out.b, []byte{0, 0, 0}[:-len(chunks)&3]...) // pion refuses a chunk without its padding
}

// queue gives pion what there is.
func (d *delivery) queue() {
	d.copy()
	a, out := d.association, d.out
	if out == nil {
		return
	}
	d.out, d.ballast = nil, 0
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
	d.begin = d.end
	if d.out != nil {
		d.association.endpoint.packets.Put(d.out)
		d.out = nil
	}
}
