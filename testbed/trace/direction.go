package trace

import (
	"bytes"
	"time"
)

const (
	nearTSN = 1 << 16 // TSNs this close belong to one association
	slab    = 64 << 10
)

// fragment is a DATA or I-DATA chunk with a TSN of its own.
type fragment struct {
	tsn       int64 // unwrapped, see direction.extend
	time      time.Time
	packet    uint64 // where it was first captured whole
	copies    uint64 // all that were seen
	payload   []byte
	ppid      uint32 // 0 in an I-DATA chunk that is not the first of its message
	sequence  uint32 // SSN, or MID of I-DATA
	fsn       uint32 // of I-DATA
	stream    uint16
	interleaf bool // I-DATA
	unordered bool
	beginning bool
	ending    bool
	cut       bool // its payload was not captured whole
}

// direction collects what one endpoint sends within an association.
type direction struct {
	packets     uint64
	repeated    uint64
	conflicting uint64

	started bool
	highest int64 // unwrapped TSN
	initial int64 // unwrapped initial TSN of INIT or INIT-ACK; 0 when not captured

	index     map[int64]int // unwrapped TSN to place in fragments
	fragments []fragment
}

// base keeps unwrapped TSNs positive, whatever comes before the first that was seen.
const base = int64(1) << 40

// extend unwraps a TSN: the nearest to the highest so far in serial arithmetic (RFC 9260 section 1.6), so that order
// outlives the wrap at 2^32.
func (d *direction) extend(tsn uint32) int64 {
	if !d.started {
		d.started = true
		d.highest = base + int64(tsn)
		return d.highest
	}
	unwrapped := d.highest + int64(int32(tsn-uint32(d.highest)))
	d.highest = max(d.highest, unwrapped)
	return unwrapped
}

// expect notes the initial TSN that the sender announced. Later announcements count until a chunk is there.
func (d *direction) expect(tsn uint32) {
	if len(d.fragments) > 0 {
		return
	}
	d.started = true
	d.initial = base + int64(tsn)
	d.highest = d.initial
}

// near tells whether a TSN goes on where this direction is.
func (d *direction) near(tsn uint32) bool {
	distance := int32(tsn - uint32(d.highest))
	return d.started && distance > -nearTSN && distance < nearTSN
}

// add takes a chunk; its payload is copied when it is kept. It tells whether the chunk has a
// TSN of its own.
func (d *direction) add(f fragment, tsn uint32, memory *arena) bool {
	if d.index == nil {
		d.index = make(map[int64]int)
	}
	f.tsn = d.extend(tsn)
	f.copies = 1
	place, known := d.index[f.tsn]
	if !known {
		f.payload = memory.keep(f.payload)
		d.index[f.tsn] = len(d.fragments)
		d.fragments = append(d.fragments, f)
		return true
	}
	first := &d.fragments[place]
	first.copies++
	d.repeated++
	switch {
	case first.cut && !f.cut:
		f.copies, f.payload = first.copies, memory.keep(f.payload)
		*first = f
	case !f.cut && !bytes.Equal(first.payload, f.payload):
		d.conflicting++
	}
	return false
}

// arena keeps copies of user data in large pieces, which spares the collector millions of small ones.
type arena struct {
	free []byte
	used uint64
}

func (a *arena) keep(b []byte) []byte {
	a.used += uint64(len(b))
	if len(b) > cap(a.free)-len(a.free) {
		a.free = make([]byte, 0, max(slab, len(b)))
	}
	start := len(a.free)
	a.free = append(a.free, b...)
	return a.free[start:len(a.free):len(a.free)]
}
