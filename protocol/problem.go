package protocol

import (
	"fmt"
	"strconv"
)

// Problem says what is wrong with a message: one of a closed set, for callers to count
// by, and an error by itself that costs no allocation. Numbers mean nothing outside the process.
type Problem uint8 //nolint:errname // it is the reason why, one of a closed set, and an error only in passing

// What may be wrong with a message.
const (
	ErrNone      Problem = iota
	ErrTruncated         // shorter than a header, or an element ends past the message
	ErrVersion           // another version
	ErrType              // no such message
	ErrPriority          // over 15
	ErrFlags             // a flag that means nothing
	ErrResponse          // this message is never, or always, a response
	ErrLength            // not the length of what arrived
	ErrCall              // this message has no call reference, must have one, or one chosen by the other side
	ErrStation           // station 0
	ErrSequence          // sequence 0
	ErrOrder             // the element's type is under the one before it
	ErrDuplicate         // the element is there twice
	ErrUnknown           // an element that is not of this message, and must be understood
	ErrMissing           // a mandatory element is not there
	ErrSize              // the element has another length
	ErrZero              // 0 where it means nothing, or is said by leaving the element out
	ErrRange             // over the largest value
	errMax       = ErrRange
)

// Problems is one more than the largest Problem: the length of an array counted by it.
const Problems = int(errMax) + 1

// Error returns the problem in words.
func (p Problem) Error() string { return p.String() }

// String returns the problem in words. It does not allocate for problems that there are.
func (p Problem) String() string {
	texts := [...]string{
		ErrNone:      "none",
		ErrTruncated: "cut short",
		ErrVersion:   "version is not 1",
		ErrType:      "no such message type",
		ErrPriority:  "priority is over 15",
		ErrFlags:     "unknown flags",
		ErrResponse:  "response flag is wrong for this message",
		ErrLength:    "length is not that of the message",
		ErrCall:      "call reference is wrong for this message",
		ErrStation:   "station 0",
		ErrSequence:  "sequence 0",
		ErrOrder:     "out of order",
		ErrDuplicate: "twice",
		ErrUnknown:   "not known in this message and must be understood",
		ErrMissing:   "mandatory and missing",
		ErrSize:      "length is wrong",
		ErrZero:      "zero, which has no meaning here",
		ErrRange:     "out of range",
	}
	if p > errMax {
		return "problem " + strconv.Itoa(int(p))
	}

	return texts[p]
}

// Cause returns the cause with which an ERROR answers a message that has the problem.
func (p Problem) Cause() Cause {
	switch p {
	case ErrVersion:
		return CauseVersion
	case ErrType:
		return CauseMessageTypeUnknown
	case ErrCall:
		return CauseInvalidCallReference
	case ErrUnknown:
		return CauseElementUnknown
	case ErrMissing:
		return CauseElementMissing
	case ErrSize, ErrZero, ErrRange:
		return CauseElementInvalid
	case ErrNone, ErrTruncated, ErrPriority, ErrFlags, ErrResponse, ErrLength, ErrStation,
		ErrSequence, ErrOrder, ErrDuplicate:
		return CauseInvalidMessage
	default:
		return CauseProtocolError
	}
}

// DecodeError says what Decode did not take. It unwraps to its Problem.
type DecodeError struct {
	Element Element // which element, 0: the header
	Offset  int     // where in the message, in bytes from its start: the field, or the element's type
	Problem Problem
}

// Error names element, offset and problem.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("essp: %s at offset %d: %s", e.Element, e.Offset, e.Problem)
}

// Unwrap returns the problem.
func (e *DecodeError) Unwrap() error { return e.Problem }

// Message returns the ERROR that tells the sender.
func (e *DecodeError) Message() Error {
	return Error{Cause: e.Problem.Cause(), Element: e.Element, Offset: uint16(e.Offset)} //nolint:gosec // messages have at most 65535 bytes
}

// EncodeError says why Append does not write a message: Decode would refuse it. It
// unwraps to its Problem.
type EncodeError struct {
	Type    Type
	Element Element // which element, 0: the header
	Problem Problem
}

// Error names message, element and problem.
func (e *EncodeError) Error() string {
	return fmt.Sprintf("essp: %s: %s: %s", e.Type, e.Element, e.Problem)
}

// Unwrap returns the problem.
func (e *EncodeError) Unwrap() error { return e.Problem }
