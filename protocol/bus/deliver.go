package bus

import (
	"encoding/binary"
	"fmt"
)

// Delivery is one message for a station which no message of the station asked for.
//
// Layout of one in a frame, big-endian:
//
//	number u64 | epoch u64 | stream u16 | ppid u32 | flags u8 (2: abort) | payload length u32 | payload
type Delivery struct {
	Number  uint64 // the processor's, goes back in Delivered
	Epoch   uint64 // names the association
	Stream  uint16
	PPID    uint32
	Payload []byte // may be empty only with Abort
	Abort   bool   // the association is outdated: it is aborted, after the payload if there is one
}

const (
	// DeliverFrameOverhead is the size of a deliver frame's header in bytes.
	DeliverFrameOverhead = 20

	// DeliveryOverhead is the size of a delivery without payload in bytes.
	DeliveryOverhead = 27

	deliverFrame  = "deliver frame"
	deliverCount  = 18 // offset of the count
	flagAbort     = 2
	deliveryFlags = 22 // offset in a delivery
)

// Size is the number of bytes which the delivery takes in a frame.
func (d *Delivery) Size() int { return DeliveryOverhead + len(d.Payload) }

// DeliverWriter writes one deliver frame into a caller's buffer:
//
//	version u8 | kind u8 (7) | dispatcher incarnation u64 | node incarnation u64 | count u16 | deliveries
//
// A dispatcher of another incarnation has none of the associations. The zero value
// is unusable until Reset. It is used by one goroutine.
type DeliverWriter struct {
	buf   []byte
	start int
	count int
}

// Reset begins a frame at the end of dst: the incarnation of the dispatcher that is
// meant, and the node's own.
func (w *DeliverWriter) Reset(dst []byte, dispatcher, node uint64) {
	w.start, w.count = len(dst), 0
	w.buf = appendPrefix(dst, kindDeliver)
	w.buf = binary.BigEndian.AppendUint64(w.buf, dispatcher)
	w.buf = binary.BigEndian.AppendUint64(w.buf, node)
	w.buf = append(w.buf, 0, 0)
}

// Append adds one delivery; the payload is copied. On an error (ErrFrameFull,
// ErrPayloadLength) the frame is as it was.
func (w *DeliverWriter) Append(d *Delivery) error {
	if w.count == MaxCount {
		return ErrFrameFull
	}

	size := len(d.Payload)
	if size > maxPayloadSize || size == 0 && !d.Abort {
		return fmt.Errorf("%w: delivery of %d", ErrPayloadLength, size)
	}

	flags := byte(0)
	if d.Abort {
		flags = flagAbort
	}

	b := binary.BigEndian.AppendUint64(w.buf, d.Number)
	b = binary.BigEndian.AppendUint64(b, d.Epoch)
	b = binary.BigEndian.AppendUint16(b, d.Stream)
	b = binary.BigEndian.AppendUint32(b, d.PPID)
	b = append(b, flags)
	b = binary.BigEndian.AppendUint32(b, uint32(size)) //nolint:gosec // checked above
	w.buf = append(b, d.Payload...)
	w.count++

	return nil
}

// Count is the number of deliveries in the frame so far.
func (w *DeliverWriter) Count() int { return w.count }

// Len is the size of the frame so far in bytes.
func (w *DeliverWriter) Len() int { return len(w.buf) - w.start }

// Bytes ends the frame and returns dst with the frame appended.
func (w *DeliverWriter) Bytes() []byte {
	setCount(w.buf, w.start+deliverCount, w.count)

	return w.buf
}

// DeliverReader iterates over a frame that DecodeDeliver found sound.
type DeliverReader struct {
	b          []byte // what is left
	left       int
	dispatcher uint64
	node       uint64
}

// IsDeliver tells a deliver frame from the answers that come on the same subject.
func IsDeliver(frame []byte) bool { return len(frame) > 1 && frame[1] == byte(kindDeliver) }

// DecodeDeliver checks a whole frame, so that none is half used. The error is a
// *FrameError. It allocates nothing when the frame is sound.
func DecodeDeliver(frame []byte) (DeliverReader, error) {
	count, err := checkCounted(deliverFrame, frame, kindDeliver)
	if err != nil {
		return DeliverReader{}, err
	}

	at := DeliverFrameOverhead
	for range count {
		end, err := checkDelivery(frame, at)
		if err != nil {
			return DeliverReader{}, err
		}

		at = end
	}

	if at != len(frame) {
		return DeliverReader{}, &FrameError{What: deliverFrame, Field: "end", Offset: at, Fault: "bytes after the last delivery"}
	}

	return DeliverReader{
		b:          frame[DeliverFrameOverhead:],
		left:       count,
		dispatcher: binary.BigEndian.Uint64(frame[2:]),
		node:       binary.BigEndian.Uint64(frame[10:]),
	}, nil
}

// checkCounted reads the header that deliver frames and their answers share.
func checkCounted(what string, frame []byte, k kind) (count int, err error) {
	if err := checkPrefix(what, frame, k); err != nil {
		return 0, err
	}

	if len(frame) < DeliverFrameOverhead {
		return 0, cut(what, frame, 2, field{"dispatcher incarnation", 8}, field{"node incarnation", 8}, field{"count", 2})
	}

	count = int(binary.BigEndian.Uint16(frame[deliverCount:]))
	if count == 0 {
		return 0, &FrameError{What: what, Field: "count", Offset: deliverCount, Fault: "0, at least 1 is right"}
	}

	return count, nil
}

// checkDelivery checks the delivery at an offset and returns the offset after it.
func checkDelivery(b []byte, at int) (int, error) {
	if len(b)-at < DeliveryOverhead {
		return 0, cut(deliverFrame, b, at, field{"number", 8}, field{"epoch", 8}, field{"stream", 2}, field{"ppid", 4},
			field{"flags", 1}, field{"payload length", 4})
	}

	flags := b[at+deliveryFlags]
	if flags&^flagAbort != 0 {
		return 0, &FrameError{What: deliverFrame, Field: "flags", Offset: at + deliveryFlags, Fault: "unknown bits"}
	}

	size := int64(binary.BigEndian.Uint32(b[at+deliveryFlags+1:]))

	switch {
	case size == 0 && flags == 0:
		return 0, &FrameError{What: deliverFrame, Field: "payload length", Offset: at + deliveryFlags + 1, Fault: "0 without abort"}
	case size > int64(len(b)-at-DeliveryOverhead):
		return 0, &FrameError{What: deliverFrame, Field: "payload length", Offset: at + deliveryFlags + 1, Fault: "past the end"}
	default:
		return at + DeliveryOverhead + int(size), nil
	}
}

// Dispatcher is the incarnation of the dispatcher that is meant.
func (r *DeliverReader) Dispatcher() uint64 { return r.dispatcher }

// Node is the incarnation of the node that sent the frame.
func (r *DeliverReader) Node() uint64 { return r.node }

// Len is the number of deliveries still to come.
func (r *DeliverReader) Len() int { return r.left }

// Next reads the next delivery into d, false when there is none left. The payload
// points into the frame.
func (r *DeliverReader) Next(d *Delivery) bool {
	if r.left == 0 {
		return false
	}

	b := r.b
	end := DeliveryOverhead + int(binary.BigEndian.Uint32(b[deliveryFlags+1:]))
	*d = Delivery{
		Number:  binary.BigEndian.Uint64(b),
		Epoch:   binary.BigEndian.Uint64(b[8:]),
		Stream:  binary.BigEndian.Uint16(b[16:]),
		PPID:    binary.BigEndian.Uint32(b[18:]),
		Abort:   b[deliveryFlags]&flagAbort != 0,
		Payload: b[DeliveryOverhead:end:end],
	}
	r.b = b[end:]
	r.left--

	return true
}
