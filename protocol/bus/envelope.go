package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Envelope is one message of a station on its way to a processor.
//
// Layout of one in a frame, big-endian:
//
//	entry u64 | attempt u32 | epoch u64 | sequence u64 | after u64 | ordinal u64 |
//	expiry i64 | stream u16 | ppid u32 | flags u8 (1: unordered) |
//	key length u8 | payload length u32 | key | payload
type Envelope struct {
	Entry     uint64 // the dispatcher's in-flight entry, unique in its incarnation
	Attempt   uint32 // 1 for the first send of the entry
	Epoch     uint64 // names the source association: unique and growing over all dispatchers
	Sequence  uint64 // 1, 2, 3, ... over all messages of the association, in order of arrival
	After     uint64 // sequence of the key's last unanswered predecessor of that association; 0: none
	Ordinal   uint64 // 1, 2, 3, ... over the messages of the association's (stream, unordered) pair
	Expiry    int64  // Redis time in microseconds since 1970 after which no commit may happen
	Stream    uint16 // SCTP stream
	Unordered bool   // SCTP's U bit
	PPID      uint32 // SCTP payload protocol id
	Key       []byte // session key (protocol/key), 1 to MaxKeyLen bytes
	Payload   []byte // the message as it came
}

const (
	// MaxKeyLen is the longest key of an envelope in bytes.
	MaxKeyLen = 255

	// EnvelopeFrameOverhead is the size of an envelope frame's header in bytes.
	EnvelopeFrameOverhead = 12

	// EnvelopeOverhead is the size of an envelope without key and payload in bytes.
	EnvelopeOverhead = 64

	envelopeFrame  = "envelope frame"
	envelopeCount  = 10 // offset of the count
	flagUnordered  = 1
	maxPayloadSize = 1<<31 - 1
)

var (
	// ErrFrameFull means that a frame holds MaxCount items already.
	ErrFrameFull = errors.New("bus: frame is full")

	// ErrKeyLength means that an envelope's key is empty or longer than MaxKeyLen.
	ErrKeyLength = errors.New("bus: key length out of range")

	// ErrPayloadLength means that a payload is longer than 2 GiB - 1, or a reply empty.
	ErrPayloadLength = errors.New("bus: payload length out of range")
)

// Size is the number of bytes which the envelope takes in a frame.
func (e *Envelope) Size() int { return EnvelopeOverhead + len(e.Key) + len(e.Payload) }

// EnvelopeWriter writes one envelope frame into a caller's buffer:
//
//	version u8 | kind u8 (1) | dispatcher incarnation u64 | count u16 | envelopes
//
// The zero value is unusable until Reset. It is used by one goroutine.
type EnvelopeWriter struct {
	buf   []byte
	start int
	count int
}

// Reset begins a frame of a dispatcher's incarnation at the end of dst.
func (w *EnvelopeWriter) Reset(dst []byte, dispatcher uint64) {
	w.start, w.count = len(dst), 0
	w.buf = appendPrefix(dst, kindEnvelopes)
	w.buf = binary.BigEndian.AppendUint64(w.buf, dispatcher)
	w.buf = append(w.buf, 0, 0)
}

// Append adds one envelope; key and payload are copied. On an error (ErrFrameFull,
// ErrKeyLength, ErrPayloadLength) the frame is as it was.
func (w *EnvelopeWriter) Append(e *Envelope) error {
	switch {
	case w.count == MaxCount:
		return ErrFrameFull
	case len(e.Key) == 0 || len(e.Key) > MaxKeyLen:
		return fmt.Errorf("%w: %d", ErrKeyLength, len(e.Key))
	case len(e.Payload) > maxPayloadSize:
		return fmt.Errorf("%w: %d", ErrPayloadLength, len(e.Payload))
	}

	var flags byte
	if e.Unordered {
		flags = flagUnordered
	}

	b := binary.BigEndian.AppendUint64(w.buf, e.Entry)
	b = binary.BigEndian.AppendUint32(b, e.Attempt)
	b = binary.BigEndian.AppendUint64(b, e.Epoch)
	b = binary.BigEndian.AppendUint64(b, e.Sequence)
	b = binary.BigEndian.AppendUint64(b, e.After)
	b = binary.BigEndian.AppendUint64(b, e.Ordinal)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Expiry)) //nolint:gosec // two's complement on the wire
	b = binary.BigEndian.AppendUint16(b, e.Stream)
	b = binary.BigEndian.AppendUint32(b, e.PPID)
	b = append(b, flags, byte(len(e.Key)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Payload))) //nolint:gosec // checked above
	b = append(b, e.Key...)
	w.buf = append(b, e.Payload...)
	w.count++

	return nil
}

// Count is the number of envelopes in the frame so far.
func (w *EnvelopeWriter) Count() int { return w.count }

// Len is the size of the frame so far in bytes.
func (w *EnvelopeWriter) Len() int { return len(w.buf) - w.start }

// Bytes ends the frame and returns dst with the frame appended.
func (w *EnvelopeWriter) Bytes() []byte {
	setCount(w.buf, w.start+envelopeCount, w.count)

	return w.buf
}

// EnvelopeReader iterates over a frame that DecodeEnvelopes found sound.
type EnvelopeReader struct {
	b          []byte // what is left
	left       int
	dispatcher uint64
}

// DecodeEnvelopes checks a whole frame, so that none is half used: version and
// kind, all lengths, unknown flags, the count, and that nothing follows. The error
// is a *FrameError. It allocates nothing when the frame is sound.
func DecodeEnvelopes(frame []byte) (EnvelopeReader, error) {
	if err := checkPrefix(envelopeFrame, frame, kindEnvelopes); err != nil {
		return EnvelopeReader{}, err
	}

	if len(frame) < EnvelopeFrameOverhead {
		return EnvelopeReader{}, cut(envelopeFrame, frame, 2, field{"dispatcher incarnation", 8}, field{"count", 2})
	}

	count := int(binary.BigEndian.Uint16(frame[envelopeCount:]))
	if count == 0 {
		return EnvelopeReader{}, &FrameError{What: envelopeFrame, Field: "count", Offset: envelopeCount, Fault: "0, at least 1 is right"}
	}

	at := EnvelopeFrameOverhead
	for range count {
		end, err := checkEnvelope(frame, at)
		if err != nil {
			return EnvelopeReader{}, err
		}

		at = end
	}

	if at != len(frame) {
		return EnvelopeReader{}, &FrameError{What: envelopeFrame, Field: "end", Offset: at, Fault: "bytes after the last envelope"}
	}

	return EnvelopeReader{
		b:          frame[EnvelopeFrameOverhead:],
		left:       count,
		dispatcher: binary.BigEndian.Uint64(frame[2:]),
	}, nil
}

// checkEnvelope checks the envelope at an offset and returns the offset after it.
func checkEnvelope(b []byte, at int) (int, error) {
	if len(b)-at < EnvelopeOverhead {
		return 0, cut(envelopeFrame, b, at,
			field{"entry", 8}, field{"attempt", 4}, field{"epoch", 8}, field{"sequence", 8}, field{"after", 8},
			field{"ordinal", 8}, field{"expiry", 8}, field{"stream", 2}, field{"ppid", 4}, field{"flags", 1},
			field{"key length", 1}, field{"payload length", 4})
	}

	if b[at+58]&^flagUnordered != 0 {
		return 0, &FrameError{What: envelopeFrame, Field: "flags", Offset: at + 58, Fault: "unknown bits are set"}
	}

	keyLen, payloadLen := int(b[at+59]), int64(binary.BigEndian.Uint32(b[at+60:]))
	if keyLen == 0 {
		return 0, &FrameError{What: envelopeFrame, Field: "key length", Offset: at + 59, Fault: "0, at least 1 is right"}
	}

	left := int64(len(b) - at - EnvelopeOverhead - keyLen)
	if left < 0 {
		return 0, &FrameError{What: envelopeFrame, Field: "key length", Offset: at + 59, Fault: "past the end"}
	}

	if payloadLen > left {
		return 0, &FrameError{What: envelopeFrame, Field: "payload length", Offset: at + 60, Fault: "past the end"}
	}

	return at + EnvelopeOverhead + keyLen + int(payloadLen), nil
}

// Dispatcher is the incarnation of the dispatcher that sent the frame; it goes
// back in the header of the answers.
func (r *EnvelopeReader) Dispatcher() uint64 { return r.dispatcher }

// Len is the number of envelopes still to come.
func (r *EnvelopeReader) Len() int { return r.left }

// Next reads the next envelope into e, false when there is none left. Key and
// Payload point into the frame.
func (r *EnvelopeReader) Next(e *Envelope) bool {
	if r.left == 0 {
		return false
	}

	b := r.b
	key := EnvelopeOverhead + int(b[59])
	end := key + int(binary.BigEndian.Uint32(b[60:]))

	e.Entry = binary.BigEndian.Uint64(b)
	e.Attempt = binary.BigEndian.Uint32(b[8:])
	e.Epoch = binary.BigEndian.Uint64(b[12:])
	e.Sequence = binary.BigEndian.Uint64(b[20:])
	e.After = binary.BigEndian.Uint64(b[28:])
	e.Ordinal = binary.BigEndian.Uint64(b[36:])
	e.Expiry = int64(binary.BigEndian.Uint64(b[44:])) //nolint:gosec // two's complement on the wire
	e.Stream = binary.BigEndian.Uint16(b[52:])
	e.PPID = binary.BigEndian.Uint32(b[54:])
	e.Unordered = b[58]&flagUnordered != 0
	e.Key = b[EnvelopeOverhead:key:key]
	e.Payload = b[key:end:end]

	r.b = b[end:]
	r.left--

	return true
}
