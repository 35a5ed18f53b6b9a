package bus

import (
	"encoding/binary"
	"fmt"
)

// DeliveredStatus says what became of a Delivery.
type DeliveredStatus uint8

const (
	// Taken means that SCTP has the message.
	Taken DeliveredStatus = 1 + iota
	// NoAssociation means that the dispatcher has no such association, or not any more.
	NoAssociation
)

// String is the status in lower case, "status(9)" for an unknown one.
func (s DeliveredStatus) String() string {
	switch s {
	case Taken:
		return "taken"
	case NoAssociation:
		return "no association"
	default:
		return fmt.Sprintf("status(%d)", uint8(s))
	}
}

// Delivered is the answer to one Delivery. Layout of one in a frame, big-endian:
//
//	number u64 | status u8
type Delivered struct {
	Number uint64
	Status DeliveredStatus
}

const (
	// DeliveredOverhead is the size of one answer in bytes.
	DeliveredOverhead = 9

	deliveredFrame = "delivered frame"
)

// DeliveredWriter writes the answers to deliver frames, all to one node, into a
// caller's buffer:
//
//	version u8 | kind u8 (8) | dispatcher incarnation u64 | node incarnation u64 | count u16 | answers
//
// The zero value is unusable until Reset. It is used by one goroutine.
type DeliveredWriter struct {
	buf   []byte
	start int
	count int
}

// Reset begins a frame at the end of dst: the dispatcher's own incarnation, and the
// node's as in the deliver frame.
func (w *DeliveredWriter) Reset(dst []byte, dispatcher, node uint64) {
	w.start, w.count = len(dst), 0
	w.buf = appendPrefix(dst, kindDelivered)
	w.buf = binary.BigEndian.AppendUint64(w.buf, dispatcher)
	w.buf = binary.BigEndian.AppendUint64(w.buf, node)
	w.buf = append(w.buf, 0, 0)
}

// Append adds one answer. On ErrFrameFull the frame is as it was.
func (w *DeliveredWriter) Append(d Delivered) error {
	if w.count == MaxCount {
		return ErrFrameFull
	}

	w.buf = append(binary.BigEndian.AppendUint64(w.buf, d.Number), byte(d.Status))
	w.count++

	return nil
}

// Count is the number of answers in the frame so far.
func (w *DeliveredWriter) Count() int { return w.count }

// Len is the size of the frame so far in bytes.
func (w *DeliveredWriter) Len() int { return len(w.buf) - w.start }

// Bytes ends the frame and returns dst with the frame appended.
func (w *DeliveredWriter) Bytes() []byte {
	setCount(w.buf, w.start+deliverCount, w.count)

	return w.buf
}

// DeliveredReader iterates over a frame that DecodeDelivered found sound.
type DeliveredReader struct {
	b          []byte // what is left
	dispatcher uint64
	node       uint64
}

// DecodeDelivered checks a whole frame, so that none is half used. The error is a
// *FrameError. It allocates nothing when the frame is sound.
func DecodeDelivered(frame []byte) (DeliveredReader, error) {
	count, err := checkCounted(deliveredFrame, frame, kindDelivered)
	if err != nil {
		return DeliveredReader{}, err
	}

	if want := DeliverFrameOverhead + count*DeliveredOverhead; len(frame) != want {
		return DeliveredReader{}, &FrameError{
			What: deliveredFrame, Field: "count", Offset: deliverCount, Fault: fmt.Sprintf("%d in a frame of %d bytes", count, len(frame)),
		}
	}

	for at := DeliverFrameOverhead; at < len(frame); at += DeliveredOverhead {
		if s := DeliveredStatus(frame[at+8]); s < Taken || s > NoAssociation {
			return DeliveredReader{}, &FrameError{What: deliveredFrame, Field: "status", Offset: at + 8, Fault: s.String() + " is unknown"}
		}
	}

	return DeliveredReader{
		b:          frame[DeliverFrameOverhead:],
		dispatcher: binary.BigEndian.Uint64(frame[2:]),
		node:       binary.BigEndian.Uint64(frame[10:]),
	}, nil
}

// Dispatcher is the incarnation of the dispatcher that answered.
func (r *DeliveredReader) Dispatcher() uint64 { return r.dispatcher }

// Node is the incarnation of the node that sent the deliver frames.
func (r *DeliveredReader) Node() uint64 { return r.node }

// Len is the number of answers still to come.
func (r *DeliveredReader) Len() int { return len(r.b) / DeliveredOverhead }

// Next reads the next answer into d, false when there is none left.
func (r *DeliveredReader) Next(d *Delivered) bool {
	if len(r.b) == 0 {
		return false
	}

	*d = Delivered{Number: binary.BigEndian.Uint64(r.b), Status: DeliveredStatus(r.b[8])}
	r.b = r.b[DeliveredOverhead:]

	return true
}
