package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gopacket/gopacket/layers"

	"skyring/protocol/transport/packet"
)

// checkEvery is how many packets pass between two looks at the context.
const checkEvery = 1024

// reading is one capture being read.
type reading struct {
	src       *source
	cfg       Config
	trace     *Trace
	below     *decapsulator
	tracker   *tracker
	links     []layers.LinkType
	unknown   map[layers.LinkType]uint64 // packets of link types that are not known
	others    map[string]uint64          // packets by protocol, where it is not SCTP
	broken    tally
	cut       tally
	malformed tally
	chunks    [256]uint64
	scratch   []packet.Chunk
}

// tally counts something and remembers where it was first.
type tally struct {
	count, packet uint64
	offset        int64
}

func (t *tally) add(number uint64, offset int64) {
	if t.count == 0 {
		t.packet, t.offset = number, offset
	}
	t.count++
}

func newReading(name string, src *source, cfg Config) *reading {
	return &reading{
		src: src, cfg: cfg, below: newDecapsulator(cfg.UDPPorts), tracker: newTracker(),
		trace:   &Trace{File: name, Format: src.format, Compressed: src.compressed},
		unknown: make(map[layers.LinkType]uint64), others: make(map[string]uint64),
	}
}

// run takes record after record until the end, a limit or damage.
func (r *reading) run(ctx context.Context) error {
	for {
		if r.trace.Packets%checkEvery == 0 && ctx.Err() != nil {
			return fmt.Errorf("read %s: %w", r.trace.File, context.Cause(ctx))
		}
		if limit := r.overLimit(); limit != "" {
			r.warn(r.trace.Packets, 0, "the rest is not read: limit "+limit+" is reached")
			return nil
		}
		rec, err := r.src.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.damage(rec, err)
		}
		r.trace.Packets++
		r.record(rec)
	}
}

// damage ends the reading where the file is cut short or damaged: a fault when there was nothing before it.
func (r *reading) damage(rec record, err error) error {
	number := r.trace.Packets + 1
	place := fmt.Sprintf("in packet %d, which starts at offset %d of the %s", number, rec.offset, r.place())
	kind, what := ErrDamaged, "is damaged "+place+" ("+err.Error()+")"
	if errors.Is(err, io.ErrUnexpectedEOF) {
		kind, what = ErrCutShort, "is cut short "+place
	}
	if r.trace.Packets == 0 {
		return &FileError{File: r.trace.File, Detail: what, Want: "copy or capture it again", Err: kind}
	}
	r.warn(number, rec.offset, "the file "+what+": the "+plural(r.trace.Packets, "packet")+" before it are used")
	return nil
}

func (r *reading) place() string {
	if r.src.compressed {
		return "unpacked file"
	}
	return "file"
}

func (r *reading) overLimit() string {
	limits := r.cfg.Limits
	for _, limit := range []struct {
		name      string
		have, max uint64
	}{
		{"packets", r.trace.Packets, limits.Packets},
		{"messages", r.tracker.fragments, limits.Messages},
		{"bytes", r.tracker.memory.used, limits.Bytes},
		{"associations", uint64(len(r.tracker.conversations)), limits.Associations},
	} {
		if limit.have >= limit.max {
			return fmt.Sprintf("%s: %d", limit.name, limit.max)
		}
	}
	return ""
}

func (r *reading) record(rec record) {
	if !slices.Contains(r.links, rec.link) {
		r.links = append(r.links, rec.link)
		r.trace.LinkTypes = append(r.trace.LinkTypes, linkName(rec.link))
	}
	number := r.trace.Packets
	data, found := r.below.decode(rec)
	switch found {
	case foundSCTP:
		r.sctp(rec, data)
	case foundOther:
		r.trace.Other++
		r.others[r.below.other]++
	case foundFragment:
		r.others["IP fragment"]++
	case foundBroken:
		r.trace.Other++
		r.broken.add(number, rec.offset)
	case foundUnknownLink:
		r.trace.Other++
		r.unknown[rec.link]++
	}
}

// sctp takes an SCTP packet apart and hands it to its conversation.
func (r *reading) sctp(rec record, data datagram) {
	t := r.trace
	t.SCTPPackets++
	if data.src.Port() != 0 {
		t.OverUDP++
	}
	wasCut := rec.length > len(rec.data)
	if wasCut {
		r.cut.add(t.Packets, rec.offset)
	}
	header, err := packet.ParseHeader(data.payload)
	if err != nil {
		r.malformed.add(t.Packets, rec.offset)
		return
	}
	if !wasCut && !packet.ChecksumOK(data.payload) {
		t.BadCRC++
	}
	seen := sighting{
		path:   path{src: data.src, dst: data.dst, srcPort: header.SourcePort, dstPort: header.DestinationPort},
		tag:    header.VerificationTag,
		number: t.Packets, time: rec.time,
	}
	r.scratch = r.scratch[:0]
	for chunk, err := range packet.Chunks(data.payload) {
		if err != nil {
			seen.cut = r.badChunk(rec, data, err, wasCut)
			break
		}
		r.chunks[chunk.Type]++
		r.scratch = append(r.scratch, chunk)
	}
	seen.chunks = r.scratch
	if t.Start.IsZero() {
		t.Start, t.End = rec.time, rec.time
	}
	t.Start, t.End = earlier(t.Start, rec.time), later(t.End, rec.time)
	r.tracker.packet(seen)
}

// badChunk counts a packet whose chunks end too early, and gives what is there of the last when it was cut off.
func (r *reading) badChunk(rec record, data datagram, err error, wasCut bool) []byte {
	if !wasCut {
		r.malformed.add(r.trace.Packets, rec.offset)
	}
	var length *packet.LengthError
	if !errors.As(err, &length) {
		return nil
	}
	rest := endOfChunk(data.payload, length.Offset)
	if rest != nil {
		r.chunks[rest[0]]++
	}
	return rest
}

func (r *reading) warn(number uint64, offset int64, text string) {
	r.trace.Warnings = append(r.trace.Warnings, Warning{Packet: number, Offset: offset, Text: text})
}

// finish makes associations and messages of what was read; the error says that there is nothing of SCTP.
func (r *reading) finish() (*Trace, error) {
	t := r.trace
	t.Malformed, t.Cut = r.malformed.count, r.cut.count
	if t.SCTPPackets == 0 {
		return nil, r.nothing()
	}
	for number, count := range r.chunks {
		if count > 0 {
			kind := packet.ChunkType(number)
			t.Chunks = append(t.Chunks, ChunkCount{Type: uint8(kind), Name: kind.String(), Count: count})
		}
	}
	slices.SortStableFunc(r.tracker.conversations, func(a, b *conversation) int { return a.start.Compare(b.start) })
	var messages []placed
	for id, c := range r.tracker.conversations {
		t.Associations = append(t.Associations, c.association(id, func(m placed) { messages = append(messages, m) }))
	}
	slices.SortFunc(messages, func(a, b placed) int {
		return cmp.Or(a.at.compare(b.at), cmp.Compare(a.Association, b.Association), cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.tsn, b.tsn))
	})
	t.Messages = make([]Message, len(messages))
	for i := range messages {
		t.Messages[i] = messages[i].Message
	}
	r.report()
	return t, nil
}

// nothing says what a capture without SCTP holds instead.
func (r *reading) nothing() error {
	fault := &FileError{File: r.trace.File, Want: "capture with the filter \"sctp or udp port 9899\"", Err: ErrNoSCTP}
	if r.trace.Packets == 0 {
		fault.Detail = "is a " + r.trace.Format + " capture without packets"
		return fault
	}
	var held []string
	for _, name := range slices.Sorted(maps.Keys(r.others)) {
		held = append(held, fmt.Sprintf("%d %s", r.others[name], name))
	}
	for _, link := range slices.Sorted(maps.Keys(r.unknown)) {
		held = append(held, fmt.Sprintf("%d of unknown link type %s", r.unknown[link], strings.TrimPrefix(linkName(link), "link type ")))
	}
	if r.broken.count > 0 {
		held = append(held, fmt.Sprintf("%d damaged, the first is packet %d", r.broken.count, r.broken.packet))
	}
	fault.Detail = fmt.Sprintf("holds no SCTP in its %s (%s)", plural(r.trace.Packets, "packet"), strings.Join(held, ", "))
	if len(r.others) == 0 && len(r.unknown) > 0 && r.broken.count == 0 {
		fault.Err = ErrLinkType
		fault.Want = "link types NULL, EN10MB, RAW, LINUX_SLL, IPV4, IPV6 and LINUX_SLL2 can be read"
	}
	return fault
}
