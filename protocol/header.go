package protocol

import "encoding/binary"

// Version is the version of ESSP that this package speaks.
const Version = 1

// HeaderSize is the length of each message's header in bytes.
const HeaderSize = 20

// Flags are the bits of a header that say what kind of message it is.
type Flags uint8

// Response is the flag of a message that answers a request and carries its sequence.
const Response Flags = 0x01

// Header is how each message begins (section 3). Version and length are the codec's.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+-------+-------+-------------+-+
//	|  version = 1  |     type      |   0   |priorit|      0      |R|
//	+---------------+---------------+-+-----+-------+-------------+-+
//	|            length             |G|       call reference        |
//	+-------------------------------+-+-----------------------------+
//	|                            station                            |
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                           sequence                            |
//	+---------------------------------------------------------------+
type Header struct {
	Type     Type
	Priority Priority
	Flags    Flags
	Station  StationID
	Call     CallReference
	Sequence uint32 // the sender's own count of its requests, from 1; a response has its request's
}

// Response tells whether the message answers a request.
func (h Header) Response() bool { return h.Flags&Response != 0 }

// Answer returns the header of an answer to the message that h heads: same station,
// call, priority and sequence. The type is set by Append.
func (h Header) Answer() Header {
	h.Type, h.Flags = 0, Response

	return h
}

// offsets of header fields, as errors name them.
const (
	offsetVersion  = 0
	offsetType     = 1
	offsetPriority = 2
	offsetFlags    = 3
	offsetLength   = 4
	offsetCall     = 6
	offsetStation  = 8
	offsetSequence = 16
)

// append appends the header of a message of a length.
func (h Header) append(dst []byte, length uint16) []byte {
	dst = append(dst, Version, byte(h.Type), byte(h.Priority), byte(h.Flags))
	dst = binary.BigEndian.AppendUint16(dst, length)
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Call))
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Station))

	return binary.BigEndian.AppendUint32(dst, h.Sequence)
}

// PeekStation returns which station a message is of. It checks no more than that there
// is a header of this version with a station in it, and does not allocate. The error is a Problem.
func PeekStation(b []byte) (StationID, error) {
	switch {
	case len(b) < HeaderSize:
		return 0, ErrTruncated
	case b[offsetVersion] != Version:
		return 0, ErrVersion
	}

	station := StationID(binary.BigEndian.Uint64(b[offsetStation:]))
	if station == 0 {
		return 0, ErrStation
	}

	return station, nil
}

// PeekHeader returns the header of a message and checks it by itself and against the
// message's length, but not the elements that follow. It does not allocate. The error is
// a Problem; the header then holds what the bytes say, as far as there are enough of them.
func PeekHeader(b []byte) (Header, error) {
	h, _, problem := readHeader(b)
	if problem != ErrNone {
		return h, problem
	}

	return h, nil
}

// readHeader reads and checks a header; offset is where the problem is.
func readHeader(b []byte) (h Header, offset int, problem Problem) {
	if len(b) < HeaderSize {
		return Header{}, len(b), ErrTruncated
	}

	h = Header{
		Type: Type(b[offsetType]), Priority: Priority(b[offsetPriority]), Flags: Flags(b[offsetFlags]),
		Call:     CallReference(binary.BigEndian.Uint16(b[offsetCall:])),
		Station:  StationID(binary.BigEndian.Uint64(b[offsetStation:])),
		Sequence: binary.BigEndian.Uint32(b[offsetSequence:]),
	}

	switch {
	case b[offsetVersion] != Version:
		return h, offsetVersion, ErrVersion
	case int(binary.BigEndian.Uint16(b[offsetLength:])) != len(b):
		return h, offsetLength, ErrLength
	}

	offset, problem = h.check()

	return h, offset, problem
}

// check tells what is wrong with a header and where.
func (h Header) check() (offset int, problem Problem) {
	rule := h.Type.rule()

	switch {
	case rule.call == callUnknown:
		return offsetType, ErrType
	case h.Priority > MaxPriority:
		return offsetPriority, ErrPriority
	case h.Flags&^Response != 0:
		return offsetFlags, ErrFlags
	case h.Response() && rule.response == responseNever, !h.Response() && rule.response == responseAlways:
		return offsetFlags, ErrResponse
	case !rule.call.allows(h.Call):
		return offsetCall, ErrCall
	case h.Station == 0 && !rule.notice:
		return offsetStation, ErrStation
	case h.Sequence == 0 && !rule.notice:
		return offsetSequence, ErrSequence
	default:
		return 0, ErrNone
	}
}
