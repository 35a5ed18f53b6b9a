package statestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// What format 2 has between sources and body, big-endian:
//
//	life u8, line i64, generation u32
//	leg        u8 (0 none, 1 present, 3 present and gone), when present:
//	             incarnation u64, epoch u64, stream u16, ppid u32, dispatcher id u8 length, bytes
//	timers     u8, then that many: name u8, generation u32, due i64
//	peers      u16, then that many: key u8 length, bytes; line i64, mark u64, next u64, touched i64
//	outbox     u16, then that many: destination u8 length, bytes; number u64, since i64, payload u32 length, bytes
//
// A record with nothing of all that is written in format 1.
const (
	legPresent = 0x01
	legGone    = 0x02
	timerLen   = 1 + 4 + 8
	peerLen    = 1 + 8 + 8 + 8 + 8
	entryLen   = 1 + 8 + 8 + 4
	activeLen  = 1 + 8 + 4 + 1 + 1 + 2 + 2
	legLen     = 8 + 8 + 2 + 4 + 1
)

// passive tells that format 1 has room for all there is.
func (r *Record) passive() bool {
	return r.Life == Fading && r.Line == 0 && r.Generation == 0 && r.Leg == nil && len(r.Timers) == 0 && len(r.Peers) == 0 && len(r.Outbox) == 0
}

// activeSize is how many bytes appendActive needs.
func (r *Record) activeSize() int {
	if r.passive() {
		return 0
	}
	n := activeLen + len(r.Timers)*timerLen + len(r.Peers)*peerLen + len(r.Outbox)*entryLen
	if r.Leg != nil {
		n += legLen + len(r.Leg.Dispatcher)
	}
	for i := range r.Peers {
		n += len(r.Peers[i].Key)
	}
	for i := range r.Outbox {
		n += len(r.Outbox[i].Destination) + len(r.Outbox[i].Payload)
	}
	return n
}

func (r *Record) appendActive(dst []byte) []byte {
	dst = append(dst, byte(r.Life))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Line))
	dst = binary.BigEndian.AppendUint32(dst, r.Generation)
	dst = r.Leg.append(dst)
	dst = append(dst, byte(len(r.Timers)))
	for _, t := range r.Timers {
		dst = append(dst, t.Name)
		dst = binary.BigEndian.AppendUint32(dst, t.Generation)
		dst = binary.BigEndian.AppendUint64(dst, uint64(t.Due))
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.Peers)))
	for i := range r.Peers {
		p := &r.Peers[i]
		dst = append(append(dst, byte(len(p.Key))), p.Key...)
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.Line))
		dst = binary.BigEndian.AppendUint64(dst, p.Mark)
		dst = binary.BigEndian.AppendUint64(dst, p.Next)
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.Touched))
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.Outbox)))
	for i := range r.Outbox {
		e := &r.Outbox[i]
		dst = append(append(dst, byte(len(e.Destination))), e.Destination...)
		dst = binary.BigEndian.AppendUint64(dst, e.Number)
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Since))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.Payload)))
		dst = append(dst, e.Payload...)
	}
	return dst
}

func (l *Leg) append(dst []byte) []byte {
	if l == nil {
		return append(dst, 0)
	}
	flags := byte(legPresent)
	if l.Gone {
		flags |= legGone
	}
	dst = append(dst, flags)
	dst = binary.BigEndian.AppendUint64(dst, l.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, l.Epoch)
	dst = binary.BigEndian.AppendUint16(dst, l.Stream)
	dst = binary.BigEndian.AppendUint32(dst, l.PPID)
	return append(append(dst, byte(len(l.Dispatcher))), l.Dispatcher...)
}

// checkActive holds for every record that is ever kept.
func (r *Record) checkActive() error {
	switch {
	case r.Life > Ended:
		return fmt.Errorf("life %d", r.Life)
	case r.Leg != nil && len(r.Leg.Dispatcher) > math.MaxUint8:
		return errors.New("leg: dispatcher id too long")
	case len(r.Timers) > math.MaxUint8:
		return fmt.Errorf("%d timers", len(r.Timers))
	case len(r.Peers) > math.MaxUint16:
		return fmt.Errorf("%d peers", len(r.Peers))
	case len(r.Outbox) > math.MaxUint16:
		return fmt.Errorf("outbox of %d entries", len(r.Outbox))
	}
	var named [256]bool
	for _, t := range r.Timers {
		if named[t.Name] || t.Due <= 0 || t.Generation > r.Generation {
			return fmt.Errorf("timer %d: armed twice, without a time, or of a generation to come", t.Name)
		}
		named[t.Name] = true
	}
	if slices.ContainsFunc(r.Peers, func(p Peer) bool { return len(p.Key) > math.MaxUint8 }) {
		return errors.New("peer: key too long")
	}
	for i := range r.Outbox {
		if e := &r.Outbox[i]; e.Number == 0 || len(e.Destination) > math.MaxUint8 || uint64(len(e.Payload)) > math.MaxUint32 {
			return fmt.Errorf("outbox entry %d: number %d, destination of %d bytes, payload of %d bytes", i, e.Number, len(e.Destination), len(e.Payload))
		}
	}
	return nil
}

// active reads what format 2 adds.
func (d *decoder) active(r *Record) {
	r.Life, r.Line, r.Generation = Life(d.u8("life")), int64(d.u64("line")), d.u32("generation")
	r.Leg = d.leg()
	timers := d.count(int(d.u8("timers")), timerLen, "timers")
	for range timers {
		r.Timers = append(r.Timers, Timer{Name: d.u8("timer"), Generation: d.u32("timer generation"), Due: int64(d.u64("due"))})
	}
	peers := d.count(int(d.u16("peers")), peerLen, "peers")
	r.Peers = slices.Grow(r.Peers, peers)
	for range peers {
		r.Peers = append(r.Peers, Peer{
			Key: d.take(int(d.u8("peer key length")), "peer key"), Line: int64(d.u64("peer line")), Mark: d.u64("peer mark"), Next: d.u64("peer next"),
			Touched: int64(d.u64("peer touched")),
		})
	}
	entries := d.count(int(d.u16("outbox")), entryLen, "outbox entries")
	r.Outbox = slices.Grow(r.Outbox, entries)
	for range entries {
		r.Outbox = append(r.Outbox, Entry{
			Destination: d.take(int(d.u8("destination length")), "destination"), Number: d.u64("number"), Since: int64(d.u64("since")),
			Payload: d.take(int(d.u32("payload length")), "payload"),
		})
	}
	if d.err != nil {
		return
	}
	if err := r.checkActive(); err != nil {
		d.fail(err.Error())
	} else if r.passive() {
		d.fail("nothing that needs format 2")
	}
}

// count is n when that many items can be there at all, else 0 and a fault.
func (d *decoder) count(n, size int, what string) int {
	if d.err != nil {
		return 0
	}
	if n*size > len(d.b)-d.at {
		d.fail("more " + what + " than bytes")
		return 0
	}
	return n
}

func (d *decoder) leg() *Leg {
	flags := d.u8("leg")
	if flags == 0 || d.err != nil {
		return nil
	}
	if flags&legPresent == 0 || flags&^(legPresent|legGone) != 0 {
		d.fail("leg flags")
		return nil
	}
	l := &Leg{Gone: flags&legGone != 0, Incarnation: d.u64("leg incarnation"), Epoch: d.u64("leg epoch"), Stream: d.u16("leg stream"), PPID: d.u32("leg ppid")}
	l.Dispatcher = string(d.take(int(d.u8("leg dispatcher length")), "leg dispatcher"))
	return l
}
