package bus

import (
	"encoding/binary"
	"fmt"
)

// Status says what became of one envelope at a processor.
type Status uint8

const (
	// Committed means that this attempt wrote the message's effect.
	Committed Status = 1 + iota
	// Replayed means that an earlier attempt wrote it; the stored reply comes again.
	Replayed
	// Stale means at or under the mark and out of the reply ring: the effect is in, its reply is gone.
	Stale
	// Gap means that the predecessor named by After is not in; the key's unanswered are wanted again in order.
	Gap
	// Expired means that Redis time is past the envelope's expiry; nothing was written.
	Expired
	// Unavailable means that the processor cannot reach Redis, or cannot tell the outcome; to be sent again later.
	Unavailable
	// Quarantined means that the handler failed on it again and again; it was set aside and counts as done.
	Quarantined
	// Refused means that the handler answered it and wrote nothing; nothing is to be sent again.
	Refused
)

// String is the status in lower case, "status(9)" for an unknown one.
func (s Status) String() string {
	switch s {
	case Committed:
		return "committed"
	case Replayed:
		return "replayed"
	case Stale:
		return "stale"
	case Gap:
		return "gap"
	case Expired:
		return "expired"
	case Unavailable:
		return "unavailable"
	case Quarantined:
		return "quarantined"
	case Refused:
		return "refused"
	default:
		return fmt.Sprintf("status(%d)", uint8(s))
	}
}

// Done tells that the message needs no further attempt: its effect is in, it was
// set aside for good, or refused.
func (s Status) Done() bool {
	return s == Committed || s == Replayed || s == Stale || s == Quarantined || s == Refused
}

// Reply is a message for the station, on the association that the envelope's
// epoch names.
type Reply struct {
	Stream    uint16
	PPID      uint32
	Unordered bool
	Payload   []byte // at least one byte: SCTP carries no empty message
}

// Answer says what became of one attempt of one entry.
//
// Layout of one in a frame, big-endian; the last three fields only with a reply:
//
//	entry u64 | attempt u32 | status u8 | flags u8 (1: unordered reply, 2: has reply, 4: abort the association) |
//	stream u16 | ppid u32 | payload length u32 | payload
type Answer struct {
	Entry    uint64 // as in the envelope
	Attempt  uint32 // as in the envelope
	Status   Status
	HasReply bool  // Reply is meant
	Reply    Reply // zero without HasReply

	AbortAssociation bool // the association is outdated: it is aborted, after the reply if there is one
}

const (
	// AnswerFrameOverhead is the size of an answers frame's header in bytes.
	AnswerFrameOverhead = 20

	// AnswerOverhead is the size of an answer without reply in bytes.
	AnswerOverhead = 14

	// ReplyOverhead is what a reply adds to its payload in bytes.
	ReplyOverhead = 10

	answerFrame  = "answers frame"
	answersCount = 18 // offset of the count
	flagReply    = 2
	flagOutdated = 4
)

// Size is the number of bytes which the answer takes in a frame.
func (a *Answer) Size() int {
	if !a.HasReply {
		return AnswerOverhead
	}

	return AnswerOverhead + ReplyOverhead + len(a.Reply.Payload)
}

// AnswerWriter writes one answers frame into a caller's buffer:
//
//	version u8 | kind u8 (2) | dispatcher incarnation u64 | node incarnation u64 | count u16 | answers
//
// The zero value is unusable until Reset. It is used by one goroutine.
type AnswerWriter struct {
	buf   []byte
	start int
	count int
}

// Reset begins a frame at the end of dst: the dispatcher's incarnation as in the
// envelope frame that is answered, and the node's own.
func (w *AnswerWriter) Reset(dst []byte, dispatcher, node uint64) {
	w.start, w.count = len(dst), 0
	w.buf = appendPrefix(dst, kindAnswers)
	w.buf = binary.BigEndian.AppendUint64(w.buf, dispatcher)
	w.buf = binary.BigEndian.AppendUint64(w.buf, node)
	w.buf = append(w.buf, 0, 0)
}

// Append adds one answer; the payload is copied. On an error (ErrFrameFull,
// ErrPayloadLength for an empty or too long reply) the frame is as it was.
func (w *AnswerWriter) Append(a *Answer) error {
	if w.count == MaxCount {
		return ErrFrameFull
	}

	size := len(a.Reply.Payload)
	if a.HasReply && (size == 0 || size > maxPayloadSize) {
		return fmt.Errorf("%w: reply of %d", ErrPayloadLength, size)
	}

	b := binary.BigEndian.AppendUint64(w.buf, a.Entry)
	b = binary.BigEndian.AppendUint32(b, a.Attempt)
	b = append(b, byte(a.Status), a.flags())

	if a.HasReply {
		b = binary.BigEndian.AppendUint16(b, a.Reply.Stream)
		b = binary.BigEndian.AppendUint32(b, a.Reply.PPID)
		b = binary.BigEndian.AppendUint32(b, uint32(size)) //nolint:gosec // checked above
		b = append(b, a.Reply.Payload...)
	}

	w.buf = b
	w.count++

	return nil
}

func (a *Answer) flags() byte {
	flags := byte(0)
	if a.AbortAssociation {
		flags = flagOutdated
	}

	switch {
	case !a.HasReply:
		return flags
	case a.Reply.Unordered:
		return flags | flagReply | flagUnordered
	default:
		return flags | flagReply
	}
}

// Count is the number of answers in the frame so far.
func (w *AnswerWriter) Count() int { return w.count }

// Len is the size of the frame so far in bytes.
func (w *AnswerWriter) Len() int { return len(w.buf) - w.start }

// Bytes ends the frame and returns dst with the frame appended.
func (w *AnswerWriter) Bytes() []byte {
	setCount(w.buf, w.start+answersCount, w.count)

	return w.buf
}

// AnswerReader iterates over a frame that DecodeAnswers found sound.
type AnswerReader struct {
	b          []byte // what is left
	left       int
	dispatcher uint64
	node       uint64
}

// DecodeAnswers checks a whole frame, so that none is half used: version and kind,
// statuses, flags, all lengths, the count, and that nothing follows. The error is
// a *FrameError. It allocates nothing when the frame is sound.
func DecodeAnswers(frame []byte) (AnswerReader, error) {
	if err := checkPrefix(answerFrame, frame, kindAnswers); err != nil {
		return AnswerReader{}, err
	}

	if len(frame) < AnswerFrameOverhead {
		return AnswerReader{}, cut(answerFrame, frame, 2,
			field{"dispatcher incarnation", 8}, field{"node incarnation", 8}, field{"count", 2})
	}

	count := int(binary.BigEndian.Uint16(frame[answersCount:]))
	if count == 0 {
		return AnswerReader{}, &FrameError{What: answerFrame, Field: "count", Offset: answersCount, Fault: "0, at least 1 is right"}
	}

	at := AnswerFrameOverhead
	for range count {
		end, err := checkAnswer(frame, at)
		if err != nil {
			return AnswerReader{}, err
		}

		at = end
	}

	if at != len(frame) {
		return AnswerReader{}, &FrameError{What: answerFrame, Field: "end", Offset: at, Fault: "bytes after the last answer"}
	}

	return AnswerReader{
		b:          frame[AnswerFrameOverhead:],
		left:       count,
		dispatcher: binary.BigEndian.Uint64(frame[2:]),
		node:       binary.BigEndian.Uint64(frame[10:]),
	}, nil
}

// checkAnswer checks the answer at an offset and returns the offset after it.
func checkAnswer(b []byte, at int) (int, error) {
	if len(b)-at < AnswerOverhead {
		return 0, cut(answerFrame, b, at, field{"entry", 8}, field{"attempt", 4}, field{"status", 1}, field{"flags", 1})
	}

	if s := Status(b[at+12]); s < Committed || s > Refused {
		return 0, &FrameError{What: answerFrame, Field: "status", Offset: at + 12, Fault: s.String() + " is unknown"}
	}

	switch b[at+13] &^ flagOutdated {
	case 0:
		return at + AnswerOverhead, nil
	case flagReply, flagReply | flagUnordered:
		return checkReply(b, at+AnswerOverhead)
	default:
		return 0, &FrameError{What: answerFrame, Field: "flags", Offset: at + 13, Fault: "unknown bits, or unordered without a reply"}
	}
}

func checkReply(b []byte, at int) (int, error) {
	if len(b)-at < ReplyOverhead {
		return 0, cut(answerFrame, b, at, field{"reply stream", 2}, field{"reply ppid", 4}, field{"reply length", 4})
	}

	size := int64(binary.BigEndian.Uint32(b[at+6:]))

	switch {
	case size == 0:
		return 0, &FrameError{What: answerFrame, Field: "reply length", Offset: at + 6, Fault: "0, at least 1 is right"}
	case size > int64(len(b)-at-ReplyOverhead):
		return 0, &FrameError{What: answerFrame, Field: "reply length", Offset: at + 6, Fault: "past the end"}
	default:
		return at + ReplyOverhead + int(size), nil
	}
}

// Dispatcher is the dispatcher's incarnation which the envelopes came from.
func (r *AnswerReader) Dispatcher() uint64 { return r.dispatcher }

// Node is the incarnation of the node that answered.
func (r *AnswerReader) Node() uint64 { return r.node }

// Len is the number of answers still to come.
func (r *AnswerReader) Len() int { return r.left }

// Next reads the next answer into a, false when there is none left. The reply's
// payload points into the frame.
func (r *AnswerReader) Next(a *Answer) bool {
	if r.left == 0 {
		return false
	}

	b := r.b
	*a = Answer{
		Entry:    binary.BigEndian.Uint64(b),
		Attempt:  binary.BigEndian.Uint32(b[8:]),
		Status:   Status(b[12]),
		HasReply: b[13]&flagReply != 0,

		AbortAssociation: b[13]&flagOutdated != 0,
	}
	end := AnswerOverhead

	if a.HasReply {
		end += ReplyOverhead + int(binary.BigEndian.Uint32(b[20:]))
		a.Reply = Reply{
			Stream:    binary.BigEndian.Uint16(b[14:]),
			PPID:      binary.BigEndian.Uint32(b[16:]),
			Unordered: b[13]&flagUnordered != 0,
			Payload:   b[AnswerOverhead+ReplyOverhead : end : end],
		}
	}

	r.b = b[end:]
	r.left--

	return true
}
