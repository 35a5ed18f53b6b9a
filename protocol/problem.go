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
	ProblemNone      Problem = iota
	ProblemTruncated         // shorter than a header, or an element ends past the message
	ProblemVersion           // another version
	ProblemType              // no such message
	ProblemPriority          // over 15
	ProblemFlags             // a flag that means nothing
	ProblemResponse          // this message is never, or always, a response
	ProblemLength            // not the length of what arrived
	ProblemCall              // this message has no call reference, must have one, or one chosen by the other side
	ProblemStation           // station 0
	ProblemSequence          // sequence 0
	ProblemOrder             // the element's type is under the one before it
	ProblemDuplicate         // the element is there twice
	ProblemUnknown           // an element that is not of this message, and must be understood
	ProblemMissing           // a mandatory element is not there
	ProblemSize              // the element has another length
	ProblemZero              // 0 where it means nothing, or is said by leaving the element out
	ProblemRange             // over the largest value
	maxProblem       = ProblemRange
)

// Problems is one more than the largest Problem: the length of an array counted by it.
const Problems = int(maxProblem) + 1

// Error returns the problem in words.
func (p Problem) Error() string { return p.String() }

// String returns the problem in words. It does not allocate for problems that there are.
func (p Problem) String() string {
	texts := [...]string{
		ProblemNone:      "none",
		ProblemTruncated: "cut short",
		ProblemVersion:   "version is not 1",
		ProblemType:      "no such message type",
		ProblemPriority:  "priority is over 15",
		ProblemFlags:     "unknown flags",
		ProblemResponse:  "response flag is wrong for this message",
		ProblemLength:    "length is not that of the message",
		ProblemCall:      "call reference is wrong for this message",
		ProblemStation:   "station 0",
		ProblemSequence:  "sequence 0",
		ProblemOrder:     "out of order",
		ProblemDuplicate: "twice",
		ProblemUnknown:   "not known in this message and must be understood",
		ProblemMissing:   "mandatory and missing",
		ProblemSize:      "length is wrong",
		ProblemZero:      "zero, which has no meaning here",
		ProblemRange:     "out of range",
	}
	if p > maxProblem {
		return "problem " + strconv.Itoa(int(p))
	}

	return texts[p]
}

// Cause returns the cause with which an ERROR answers a message that has the problem.
func (p Problem) Cause() Cause {
	switch p {
	case ProblemVersion:
		return CauseVersion
	case ProblemType:
		return CauseMessageTypeUnknown
	case ProblemCall:
		return CauseInvalidCallReference
	case ProblemUnknown:
		return CauseElementUnknown
	case ProblemMissing:
		return CauseElementMissing
	case ProblemSize, ProblemZero, ProblemRange:
		return CauseElementInvalid
	case ProblemNone, ProblemTruncated, ProblemPriority, ProblemFlags, ProblemResponse, ProblemLength, ProblemStation,
		ProblemSequence, ProblemOrder, ProblemDuplicate:
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
