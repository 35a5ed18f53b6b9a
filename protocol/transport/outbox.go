package transport

import (
	"encoding/binary"
	"runtime"
	"sync"
	"time"

	"skyring/protocol/transport/packet"
)

const (
	maxOutbox  = 1 << 20   // bytes that wait for a link; senders wait beyond
	keptOutbox = 128 << 10 // bytes of memory that an outbox keeps once it is empty

	singlesToIdle = 16                   // times in a row that an outbox found a single packet and an idle process: it is of no use then
	idlePackets   = 256                  // packets that are written without it, before it is tried again
	idleYield     = 5 * time.Microsecond // within which who lets others run goes on where there are none
)

// outbox holds the packets of all associations that are on their way to a link which can write many at once. Its goroutine
// takes what there is, lets others run before it writes when it has slept, and so finds what they had to send as well: the
// busier the endpoint, the more packets a system call carries. While it finds but single packets, and nobody else to let run, it
// stands aside: each sender writes its own then, until two do at once, or it is time to try again.
type outbox struct {
	// static
	endpoint *Endpoint
	link     bulkWriting
	limit    int           // bytes, of a packet
	wake     chan struct{} // holds one

	// owned by run
	spare parcel
	busy  bool // others ran before it took what there is

	mu      sync.Mutex
	room    sync.Cond // there may be room again, or it is closed
	waiting parcel
	open    bool // packets are taken: run has begun, and close was not called
	closed  bool
	asleep  bool // run waits for wake
	singles int  // times in a row that run found a single packet
	writers int  // senders that write their own
	alone   int  // packets that may be written so before run is tried again; 0 while it is in use
}

// parcel is packets of one link, in the order in which they were sent, without checksums.
type parcel struct {
	b       []byte
	packets []outgoing
}

// outgoing is a packet of a parcel. It begins where the one before ends.
type outgoing struct {
	to  place
	end int
}

func newOutbox(e *Endpoint, link bulkWriting, limit uint32) *outbox {
	o := &outbox{endpoint: e, link: link, limit: int(limit), wake: make(chan struct{}, 1)}
	o.room.L = &o.mu
	return o
}

// add takes a packet, of which it keeps nothing, and waits while the outbox is full. It is false when the sender is to
// write the packet itself, and call wrote after that.
func (o *outbox) add(b []byte, to place) bool {
	o.mu.Lock()
	for o.open && len(o.waiting.b) >= maxOutbox {
		o.room.Wait()
	}
	if !o.open || o.standsAside() {
		o.writers++
		o.mu.Unlock()
		return false
	}
	o.waiting.add(b, to, o.limit)
	asleep := o.asleep
	o.asleep = false
	o.mu.Unlock()
	if asleep {
		o.wake <- struct{}{} // has room, as run has taken the one before
	}
	return true
}

// standsAside tells whether senders write their own packets; the caller holds mu.
func (o *outbox) standsAside() bool {
	switch {
	case o.alone == 0:
		return false
	case o.writers > 0 || len(o.waiting.packets) > 0:
		o.alone = 0
		return false
	default:
		o.alone--
		return true
	}
}

// wrote notes that a sender has written the packet that add did not take.
func (o *outbox) wrote() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writers--
}

// found notes how many packets run has found; the caller holds mu.
func (o *outbox) found(n int) {
	if n > 1 || o.busy {
		o.singles = 0
		return
	}
	if o.singles++; o.singles == singlesToIdle {
		o.singles, o.alone = 0, idlePackets
	}
}

// run writes packets until the outbox is closed, and then those that are left.
func (o *outbox) run() {
	o.mu.Lock()
	o.open = !o.closed
	for {
		switch {
		case len(o.waiting.packets) > 0:
			o.found(len(o.waiting.packets))
			o.waiting, o.spare = o.spare, o.waiting
			o.mu.Unlock()
			o.room.Broadcast()
			o.write(&o.spare)
			o.spare.empty()
		case o.open:
			o.asleep = true
			o.mu.Unlock()
			<-o.wake
			o.yield()
		default:
			o.mu.Unlock()
			return
		}
		o.mu.Lock()
	}
}

// yield lets all run that can, who may have more to send.
func (o *outbox) yield() {
	begun := time.Now()
	runtime.Gosched()
	o.busy = time.Since(begun) > idleYield
}

// close has run end; it may be called before run.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open, o.closed = false, true
	o.room.Broadcast()
	if o.asleep {
		o.asleep = false
		o.wake <- struct{}{}
	}
}

func (o *outbox) write(p *parcel) {
	begin := 0
	for _, one := range p.packets {
		packet.PutChecksum(p.b[begin:one.end])
		begin = one.end
	}
	packets, bytes := o.link.writePackets(p)
	o.endpoint.count.addN(PacketsSent, packets)
	o.endpoint.count.addN(BytesSent, bytes)
	o.endpoint.count.addN(SendErrors, len(p.packets)-packets)
}

func (p *parcel) empty() {
	if cap(p.b) > keptOutbox {
		*p = parcel{}
	}
	p.b, p.packets = p.b[:0], p.packets[:0]
}

// add appends a packet, in the one before where that goes to the same association and both fit.
func (p *parcel) add(b []byte, to place, limit int) {
	if n := len(p.packets); n > 0 && p.packets[n-1].to == to && p.bundle(b, limit) {
		p.packets[n-1].end = len(p.b)
		return
	}
	p.b = append(p.b, b...)
	p.packets = append(p.packets, outgoing{to: to, end: len(p.b)})
}

// bundle puts the chunks of a packet into the last one. pion sends DATA and SACK in packets of their own, DATA first; they
// belong into one (RFC 9260 section 6.1, with SACK before DATA: section 6.10).
func (p *parcel) bundle(b []byte, limit int) bool {
	begin := 0
	if n := len(p.packets); n > 1 {
		begin = p.packets[n-2].end
	}
	last, chunks := p.b[begin:], b[packet.HeaderLen:]
	if len(last)+len(chunks) > limit || binary.BigEndian.Uint64(last) != binary.BigEndian.Uint64(b) { // ports and tag
		return false
	}
	switch before, now := packet.ChunkType(last[packet.HeaderLen]), packet.ChunkType(chunks[0]); {
	case now == packet.TypeData && (before == packet.TypeData || before == packet.TypeSack):
		p.b = append(p.b, chunks...)
	case now == packet.TypeSack && before == packet.TypeData:
		p.b = append(p.b, chunks...) // for the room
		behind := p.b[begin+packet.HeaderLen:]
		copy(behind[len(chunks):], behind)
		copy(behind, chunks)
	default:
		return false
	}
	return true
}
