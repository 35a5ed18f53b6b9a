package trace

import (
	"cmp"
	"slices"
	"time"
)

// moment orders messages: by time, then as captured.
type moment struct {
	time   time.Time
	packet uint64
}

func (m moment) compare(other moment) int {
	return cmp.Or(m.time.Compare(other.time), cmp.Compare(m.packet, other.packet))
}

// placed is a message with what it is ordered by.
type placed struct {
	Message
	at  moment
	tsn int64 // unwrapped, of the last fragment
}

// assembly makes messages of the fragments of one direction, in TSN order.
type assembly struct {
	association int
	direction   Direction
	flow        *Flow
	emit        func(placed)

	ppids   map[uint32]*PPIDCount
	streams map[uint16]*moment // of the last ordered message
	run     []*fragment        // of one DATA message, from its first fragment
	stray   *fragment          // last one of a message that is left out and goes on, nil for none
	partial map[identifier][]*fragment
}

// identifier names an I-DATA message (RFC 8260 section 2.1).
type identifier struct {
	stream    uint16
	unordered bool
	mid       uint32
}

// assemble fills in the flow and emits the messages of a direction, sender's order.
func assemble(d *direction, a *assembly) {
	a.ppids = make(map[uint32]*PPIDCount)
	a.streams = make(map[uint16]*moment)
	a.partial = make(map[identifier][]*fragment)
	slices.SortFunc(d.fragments, func(x, y fragment) int { return cmp.Compare(x.tsn, y.tsn) })
	d.index = nil
	a.flow.Packets, a.flow.Repeated, a.flow.Conflicting = d.packets, d.repeated, d.conflicting
	a.flow.Missing = d.missing()
	for i := range d.fragments {
		a.count(&d.fragments[i])
		if d.fragments[i].interleaf {
			a.interleaved(&d.fragments[i])
		} else {
			a.consecutive(&d.fragments[i])
		}
	}
	a.abandon()
	a.flow.Incomplete += uint64(len(a.partial))
	a.flow.Streams = len(a.streams)
	for _, count := range a.ppids {
		count.Name = PPIDName(count.PPID)
		a.flow.PPIDs = append(a.flow.PPIDs, *count)
	}
	slices.SortFunc(a.flow.PPIDs, func(x, y PPIDCount) int { return cmp.Compare(x.PPID, y.PPID) })
}

// missing counts the TSNs that were not captured, from the announced initial one when it is near; fragments are sorted.
func (d *direction) missing() uint64 {
	if len(d.fragments) == 0 {
		return 0
	}
	missing := int64(0)
	if lead := d.fragments[0].tsn - d.initial; d.initial != 0 && lead > 0 && lead < nearTSN {
		missing = lead
	}
	for i := 1; i < len(d.fragments); i++ {
		missing += d.fragments[i].tsn - d.fragments[i-1].tsn - 1
	}
	return uint64(missing)
}

// count counts a chunk. A later fragment of an I-DATA message has no PPID of its own: its message gives it.
func (a *assembly) count(f *fragment) {
	if _, ok := a.streams[f.stream]; !ok {
		a.streams[f.stream] = &moment{}
	}
	if f.interleaf && !f.beginning {
		if begun := a.partial[f.identifier()]; len(begun) > 0 {
			f.ppid = begun[0].ppid
		}
	}
	a.flow.Chunks += f.copies
	a.flow.Unique++
	count := a.ppid(f.ppid)
	count.Chunks += f.copies
	count.Unique++
}

func (a *assembly) ppid(ppid uint32) *PPIDCount {
	count, ok := a.ppids[ppid]
	if !ok {
		count = &PPIDCount{PPID: ppid}
		a.ppids[ppid] = count
	}
	return count
}

// consecutive goes on with DATA: the fragments of a message have consecutive TSNs (RFC 9260 section 6.9).
func (a *assembly) consecutive(f *fragment) {
	switch {
	case f.beginning:
		a.abandon()
		a.run = append(a.run, f)
	case len(a.run) > 0 && follows(a.run[len(a.run)-1], f):
		a.run = append(a.run, f)
	default:
		a.abandon()
		if a.stray == nil || !sameMessage(a.stray, f) {
			a.flow.Incomplete++
		}
		a.stray = f
		if f.ending {
			a.stray = nil
		}
		return
	}
	a.stray = nil
	if f.ending {
		a.complete(a.run)
		a.run = a.run[:0]
	}
}

// abandon leaves out a message whose next fragment is not there.
func (a *assembly) abandon() {
	if len(a.run) > 0 {
		a.flow.Incomplete++
		a.stray = a.run[len(a.run)-1]
		a.run = a.run[:0]
	}
}

// follows tells whether f is the next fragment of last's message.
func follows(last, f *fragment) bool {
	return f.tsn == last.tsn+1 && f.stream == last.stream && f.unordered == last.unordered &&
		(f.unordered || f.sequence == last.sequence)
}

// sameMessage tells whether f, with fragments missing before it, belongs to last's message: only ordered ones have a
// number that says so.
func sameMessage(last, f *fragment) bool {
	return follows(last, f) || !f.unordered && !last.unordered && f.stream == last.stream && f.sequence == last.sequence
}

func (f *fragment) identifier() identifier {
	return identifier{stream: f.stream, unordered: f.unordered, mid: f.sequence}
}

// interleaved goes on with I-DATA: the fragments of a message share stream and MID and count their FSN from 0, and other
// messages may come between them (RFC 8260 section 2.2.2).
func (a *assembly) interleaved(f *fragment) {
	id := f.identifier()
	parts := a.partial[id]
	if f.beginning && len(parts) > 0 {
		a.flow.Incomplete++
		parts = parts[:0]
	}
	parts = append(parts, f)
	a.partial[id] = parts
	if !f.ending {
		return
	}
	delete(a.partial, id)
	for i, part := range parts {
		if part.beginning != (i == 0) || part.fsn != uint32(i) {
			a.flow.Incomplete++
			return
		}
	}
	a.complete(parts)
}

// complete emits a message whose fragments are all there.
func (a *assembly) complete(parts []*fragment) {
	first, last := parts[0], parts[len(parts)-1]
	size, at := 0, moment{}
	for _, part := range parts {
		if part.cut {
			a.flow.Incomplete++
			return
		}
		size += len(part.payload)
		if seen := (moment{time: part.time, packet: part.packet}); at.packet == 0 || at.compare(seen) < 0 {
			at = seen
		}
	}
	if size == 0 {
		a.flow.Empty++
		return
	}
	if !first.unordered {
		previous := a.streams[first.stream]
		if at.compare(*previous) < 0 {
			at = *previous
		}
		*previous = at
	}
	a.flow.Messages++
	a.flow.Bytes += uint64(size)
	count := a.ppid(first.ppid)
	count.Messages++
	count.Bytes += uint64(size)
	a.emit(placed{at: at, tsn: last.tsn, Message: Message{
		Time: at.time, Association: a.association, Direction: a.direction, Stream: first.stream, PPID: first.ppid,
		Unordered: first.unordered, SSN: first.sequence, TSN: uint32(first.tsn), Payload: joined(parts, size),
	}})
}

// joined is the user data of the fragments; a single one's is not copied.
func joined(parts []*fragment, size int) []byte {
	if len(parts) == 1 {
		return parts[0].payload
	}
	data := make([]byte, 0, size)
	for _, part := range parts {
		data = append(data, part.payload...)
	}
	return data
}
