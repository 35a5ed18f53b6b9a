package trace

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

const (
	maxFragmented = 1024             // IP packets being put together; the oldest goes first
	maxPieces     = 8192             // of one IP packet: 8 bytes each
	maxIPPayload  = 65_535           // bytes of one IP packet
	fragmentAge   = 60 * time.Second // RFC 8200 section 4.5; RFC 791 leaves it open
)

// fragmentKey names the IP packet that fragments belong to (RFC 791 section 3.2, RFC 8200 section 4.5).
type fragmentKey struct {
	src, dst netip.Addr
	id       uint32
	protocol uint8
}

// piece is a fragment's place and content.
type piece struct {
	offset int
	last   bool
	data   []byte
	time   time.Time
}

// fragmented is an IP packet that is not whole yet.
type fragmented struct {
	pieces  []piece
	start   time.Time
	size    int  // bytes in pieces
	total   int  // bytes of the payload, -1 until the last piece is there
	spoiled bool // never whole: too large, too many pieces or overlapping ones
}

// reassembler puts IP fragments together in bounded memory. Overlapping ones spoil their packet, as RFC 5722 asks.
type reassembler struct {
	partial    map[fragmentKey]*fragmented
	order      []fragmentKey // of arrival
	incomplete uint64        // packets given up
}

func newReassembler() *reassembler {
	return &reassembler{partial: make(map[fragmentKey]*fragmented)}
}

// add takes a fragment, whose data it copies, and gives the IP packet's payload once it is whole, else nil.
func (r *reassembler) add(key fragmentKey, p piece) []byte {
	f, known := r.partial[key]
	if known && p.time.Sub(f.start) > fragmentAge {
		r.incomplete++
		r.forget(key)
		known = false
	}
	if !known {
		r.makeRoom()
		f = &fragmented{start: p.time, total: -1}
		r.partial[key] = f
		r.order = append(r.order, key)
	}
	whole := f.add(p)
	if whole != nil {
		r.forget(key)
	}
	return whole
}

// makeRoom gives up the oldest packet when there are too many.
func (r *reassembler) makeRoom() {
	if len(r.order) < maxFragmented {
		return
	}
	r.incomplete++
	r.forget(r.order[0])
}

func (r *reassembler) forget(key fragmentKey) {
	delete(r.partial, key)
	if i := slices.Index(r.order, key); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
	}
}

// lost is how many packets were not and will not be whole.
func (r *reassembler) lost() uint64 { return r.incomplete + uint64(len(r.partial)) }

// add takes a piece and gives the payload once it is whole. A piece that is there already counts once.
func (f *fragmented) add(p piece) []byte {
	if f.spoiled || slices.ContainsFunc(f.pieces, func(q piece) bool { return q.offset == p.offset && len(q.data) == len(p.data) }) {
		return nil
	}
	end := p.offset + len(p.data)
	if end > maxIPPayload || len(f.pieces) == maxPieces || f.size+len(p.data) > maxIPPayload {
		*f = fragmented{start: f.start, spoiled: true}
		return nil
	}
	p.data = slices.Clone(p.data)
	f.pieces = append(f.pieces, p)
	f.size += len(p.data)
	if p.last {
		f.total = end
	}
	if f.size != f.total {
		return nil
	}
	data := f.join()
	if data == nil {
		*f = fragmented{start: f.start, spoiled: true}
	}
	return data
}

// join lays the pieces one after the other; nil when they overlap.
func (f *fragmented) join() []byte {
	slices.SortFunc(f.pieces, func(a, b piece) int { return cmp.Compare(a.offset, b.offset) })
	data := make([]byte, 0, f.total)
	for _, p := range f.pieces {
		if p.offset != len(data) {
			return nil
		}
		data = append(data, p.data...)
	}
	return data
}
