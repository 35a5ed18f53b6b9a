package statestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Format is the newest layout of a record that this package writes and reads. Records without timers, peers, outbox, leg and life of their own
// are written in format 1.
const Format = 2

// ErrFormat says that a record was written by a newer program. It must be left as it is.
var ErrFormat = errors.New("written by a newer version of this program")

// ErrCorrupt says that a record can not be read at all.
var ErrCorrupt = errors.New("record is damaged")

// Layout, big-endian. The stamp comes first because the commit script compares these bytes; they never move, whatever the format.
//
//	0   version   u64, 1 or more
//	8   tag       u32
//	12  format    u8
//	13  handler   u32
//	17  sources   u16, then that many:
//	      epoch u64, mark u64, touched i64, transactions u8, then that many:
//	        sequence u64, flags u8 (bits 0-1 effect, 2 reply present, 3 reply unordered; others 0)
//	        when a reply is present: stream u16, ppid u32, length u32, payload
//	    (format 2: see codecactive.go)
//	    body      the rest
const (
	stampLen       = 12
	headerLen      = stampLen + 1 + 4 + 2
	sourceLen      = 8 + 8 + 8 + 1
	transactionLen = 8 + 1
	replyLen       = 2 + 4 + 4
	effectMask     = 0x03
	replyFlag      = 0x04
	unorderedFlag  = 0x08
	knownFlags     = effectMask | replyFlag | unorderedFlag
)

// Append encodes the record behind dst. It refuses what Decode would refuse.
func (r *Record) Append(dst []byte) ([]byte, error) {
	if r.Version == 0 {
		return dst, errors.New("encode record: version 0")
	}
	if len(r.Sources) > math.MaxUint16 {
		return dst, fmt.Errorf("encode record: %d sources", len(r.Sources))
	}
	if err := r.checkActive(); err != nil {
		return dst, fmt.Errorf("encode record: %w", err)
	}
	format := byte(Format)
	if r.passive() {
		format = 1
	}
	out := appendStamp(dst, r.Stamp())
	out = append(out, format)
	out = binary.BigEndian.AppendUint32(out, r.Handler)
	out = binary.BigEndian.AppendUint16(out, uint16(len(r.Sources)))
	for i := range r.Sources {
		s := &r.Sources[i]
		if err := s.check(); err != nil {
			return dst, fmt.Errorf("encode record: source %d: %w", i, err)
		}
		out = s.append(out)
	}
	if format != 1 {
		out = r.appendActive(out)
	}
	return append(out, r.Body...), nil
}

// size is how many bytes Append needs at most.
func (r *Record) size() int {
	n := headerLen + len(r.Body) + r.activeSize()
	for i := range r.Sources {
		n += sourceLen + len(r.Sources[i].Ring)*(transactionLen+replyLen)
		for j := range r.Sources[i].Ring {
			n += len(r.Sources[i].Ring[j].Reply.Payload)
		}
	}
	return n
}

func appendStamp(dst []byte, s Stamp) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, s.Version), s.Tag)
}

func (s *Source) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, s.Epoch)
	dst = binary.BigEndian.AppendUint64(dst, s.Mark)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.Touched))
	dst = append(dst, byte(len(s.Ring)))
	for i := range s.Ring {
		dst = s.Ring[i].append(dst)
	}
	return dst
}

func (t *Transaction) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, t.Sequence)
	flags := byte(t.Effect)
	if !t.HasReply {
		return append(dst, flags)
	}
	flags |= replyFlag
	if t.Reply.Unordered {
		flags |= unorderedFlag
	}
	dst = append(dst, flags)
	dst = binary.BigEndian.AppendUint16(dst, t.Reply.Stream)
	dst = binary.BigEndian.AppendUint32(dst, t.Reply.PPID)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(t.Reply.Payload)))
	return append(dst, t.Reply.Payload...)
}

// check holds for every source that is ever kept: the ring rises and ends at or under the mark.
func (s *Source) check() error {
	if len(s.Ring) > RingSize {
		return fmt.Errorf("%d transactions, at most %d", len(s.Ring), RingSize)
	}
	last := uint64(0)
	for i, t := range s.Ring {
		switch {
		case t.Sequence <= last:
			return fmt.Errorf("transaction %d: sequence %d does not rise", i, t.Sequence)
		case t.Sequence > s.Mark:
			return fmt.Errorf("transaction %d: sequence %d over the mark %d", i, t.Sequence, s.Mark)
		case t.Effect != Applied && t.Effect != Quarantined:
			return fmt.Errorf("transaction %d: effect %d", i, t.Effect)
		case uint64(len(t.Reply.Payload)) > math.MaxUint32:
			return fmt.Errorf("transaction %d: reply of %d bytes", i, len(t.Reply.Payload))
		}
		last = t.Sequence
	}
	return nil
}

// Decode reads a record. The record keeps pointing into b. Errors are ErrFormat or ErrCorrupt with the field and where it is.
func Decode(b []byte) (*Record, error) {
	if len(b) <= stampLen {
		return nil, fmt.Errorf("%w: %d bytes, too short for a stamp and a format", ErrCorrupt, len(b))
	}
	if f := b[stampLen]; f > Format {
		return nil, fmt.Errorf("%w: format %d, this one reads up to %d", ErrFormat, f, Format)
	} else if f == 0 {
		return nil, fmt.Errorf("%w: format %d", ErrCorrupt, f)
	}
	d := decoder{b: b}
	r := &Record{Version: d.u64("version"), Tag: d.u32("tag")}
	format := d.u8("format")
	r.Handler = d.u32("handler")
	sources := int(d.u16("sources"))
	if d.err == nil && r.Version == 0 {
		d.fail("version 0")
	}
	if d.err == nil && sources*sourceLen > len(d.b)-d.at {
		d.fail("more sources than bytes")
	}
	if d.err == nil && sources > 0 {
		r.Sources = make([]Source, 0, sources)
	}
	for range sources {
		if d.err != nil {
			break
		}
		r.Sources = append(r.Sources, d.source())
	}
	if format > 1 {
		d.active(r)
	}
	if d.err != nil {
		return nil, d.err
	}
	if d.at < len(b) {
		r.Body = b[d.at:len(b):len(b)]
	}
	return r, nil
}

// decoder walks over a record; the first fault stays.
type decoder struct {
	b   []byte
	at  int
	err error
}

func (d *decoder) source() Source {
	s := Source{Epoch: d.u64("epoch"), Mark: d.u64("mark"), Touched: int64(d.u64("touched"))}
	n := int(d.u8("transactions"))
	if d.err == nil && n > RingSize {
		d.fail("more transactions than a ring holds")
	}
	if d.err == nil && n > 0 {
		s.Ring = make([]Transaction, 0, RingSize)
	}
	for range n {
		if d.err != nil {
			return s
		}
		s.Ring = append(s.Ring, d.transaction())
	}
	if d.err == nil {
		if err := s.check(); err != nil {
			d.fail(err.Error())
		}
	}
	return s
}

func (d *decoder) transaction() Transaction {
	t := Transaction{Sequence: d.u64("sequence")}
	flags := d.u8("flags")
	if d.err == nil && (flags&^knownFlags != 0 || (flags&unorderedFlag != 0 && flags&replyFlag == 0)) {
		d.fail("flags")
	}
	t.Effect = Effect(flags & effectMask)
	if flags&replyFlag == 0 || d.err != nil {
		return t
	}
	t.HasReply = true
	t.Reply = Reply{Unordered: flags&unorderedFlag != 0, Stream: d.u16("reply stream"), PPID: d.u32("reply ppid")}
	t.Reply.Payload = d.take(int(d.u32("reply length")), "reply payload")
	return t
}

func (d *decoder) fail(what string) {
	d.err = fmt.Errorf("%w: %s at byte %d", ErrCorrupt, what, d.at)
}

func (d *decoder) take(n int, field string) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.b)-d.at {
		d.fail(field + " past the end")
		return nil
	}
	if n == 0 {
		return nil
	}
	p := d.b[d.at : d.at+n : d.at+n]
	d.at += n
	return p
}

func (d *decoder) u8(field string) uint8 {
	if p := d.take(1, field); p != nil {
		return p[0]
	}
	return 0
}

func (d *decoder) u16(field string) uint16 {
	if p := d.take(2, field); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

func (d *decoder) u32(field string) uint32 {
	if p := d.take(4, field); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (d *decoder) u64(field string) uint64 {
	if p := d.take(8, field); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}
