package saga

import (
	"encoding/binary"
	"errors"
	"fmt"

	"skyring/protocol"
)

// version is the first byte of each notification; a processor refuses others, and the notification stays in the sender's outbox.
const version = 1

// ErrMalformed is what each error of Decode wraps.
var ErrMalformed = errors.New("malformed notification")

// Append encodes a notification behind dst: version, kind, and its fields big-endian in their order. A contained ESSP message comes last, as the
// protocol encodes it under a bare header. The error is that of the protocol, or tells of a side that is none.
func Append(dst []byte, n Notification) ([]byte, error) {
	out, err := n.append(append(dst, version, byte(n.Kind())))
	if err != nil {
		return nil, fmt.Errorf("encode notification %d: %w", n.Kind(), err)
	}
	return out, nil
}

// Decode reads a notification. It takes only what Append writes: anything else is ErrMalformed.
func Decode(b []byte) (Notification, error) { //nolint:ireturn // which of them it is, is the question
	if len(b) < 2 || b[0] != version {
		return nil, fmt.Errorf("%w: no version %d", ErrMalformed, version)
	}
	n := empty(Kind(b[1]))
	if n == nil {
		return nil, fmt.Errorf("%w: unknown kind %d", ErrMalformed, b[1])
	}
	r := reader{b: b[2:]}
	n.decode(&r)
	if r.fault == "" && len(r.b) > 0 {
		r.fault = "bytes past the end"
	}
	if r.fault != "" {
		return nil, fmt.Errorf("%w: kind %d: %s", ErrMalformed, b[1], r.fault)
	}
	return n, nil
}

func empty(k Kind) Notification { //nolint:ireturn // which of them it is, is the question
	switch k {
	case KindSetup:
		return &Setup{}
	case KindOffer:
		return &Offer{}
	case KindOfferResult:
		return &OfferResult{}
	case KindForward:
		return &Forward{}
	case KindToStation:
		return &ToStation{}
	case KindUnanswered:
		return &Unanswered{}
	case KindStationGone:
		return &StationGone{}
	case KindYield:
		return &Yield{}
	case KindEndCall:
		return &EndCall{}
	case KindAllocate:
		return &Allocate{}
	case KindAllocated:
		return &Allocated{}
	case KindFree:
		return &Free{}
	case KindFreed:
		return &Freed{}
	default:
		return nil
	}
}

func (n *Setup) append(dst []byte) ([]byte, error) {
	dst = binary.BigEndian.AppendUint64(dst, uint64(n.Calling))
	dst = binary.BigEndian.AppendUint64(dst, uint64(n.Called))
	dst = binary.BigEndian.AppendUint16(dst, uint16(n.Reference))
	dst = append(dst, n.Service, byte(n.Priority))
	return binary.BigEndian.AppendUint16(dst, uint16(n.Beam)), nil
}

func (n *Setup) decode(r *reader) {
	n.Calling = protocol.StationID(r.uint64())
	n.Called = protocol.StationID(r.uint64())
	n.Reference = protocol.CallReference(r.uint16())
	n.Service = r.byte()
	n.Priority = protocol.Priority(r.byte())
	n.Beam = protocol.Beam(r.uint16())
}

func (n *Offer) append(dst []byte) ([]byte, error) {
	dst = binary.BigEndian.AppendUint64(dst, uint64(n.Calling))
	return append(dst, n.Service, byte(n.Priority)), nil
}

func (n *Offer) decode(r *reader) {
	n.Calling = protocol.StationID(r.uint64())
	n.Service = r.byte()
	n.Priority = protocol.Priority(r.byte())
}

func (n *OfferResult) append(dst []byte) ([]byte, error) {
	dst = append(dst, flag(n.Accepted))
	dst = binary.BigEndian.AppendUint16(dst, uint16(n.Beam))
	return append(dst, byte(n.Cause)), nil
}

func (n *OfferResult) decode(r *reader) {
	n.Accepted = r.flag()
	n.Beam = protocol.Beam(r.uint16())
	n.Cause = protocol.Cause(r.byte())
}

func (n *Forward) append(dst []byte) ([]byte, error) {
	dst, err := appendSide(dst, n.Side)
	if err != nil {
		return nil, err
	}
	dst = append(dst, flag(n.Response))
	dst = binary.BigEndian.AppendUint32(dst, n.Sequence)
	return appendMessage(dst, n.Message, n.Response)
}

func (n *Forward) decode(r *reader) {
	n.Side = r.side()
	n.Response = r.flag()
	n.Sequence = r.uint32()
	n.Message = r.message(n.Response)
}

func (n *ToStation) append(dst []byte) ([]byte, error) {
	return appendMessage(binary.BigEndian.AppendUint32(dst, n.Answers), n.Message, n.Answers != 0)
}

func (n *ToStation) decode(r *reader) {
	n.Answers = r.uint32()
	n.Message = r.message(n.Answers != 0)
}

func (n *Unanswered) append(dst []byte) ([]byte, error) {
	dst, err := appendSide(dst, n.Side)
	return append(dst, byte(n.Type)), err
}

func (n *Unanswered) decode(r *reader) {
	n.Side = r.side()
	n.Type = protocol.Type(r.byte())
}

func (n *StationGone) append(dst []byte) ([]byte, error) {
	dst, err := appendSide(dst, n.Side)
	return append(dst, byte(n.Cause)), err
}

func (n *StationGone) decode(r *reader) {
	n.Side = r.side()
	n.Cause = protocol.Cause(r.byte())
}

func (n *Yield) append(dst []byte) ([]byte, error) { return append(dst, byte(n.Cause)), nil }

func (n *Yield) decode(r *reader) { n.Cause = protocol.Cause(r.byte()) }

func (*EndCall) append(dst []byte) ([]byte, error) { return dst, nil }

func (*EndCall) decode(*reader) {}

func (n *Allocate) append(dst []byte) ([]byte, error) {
	dst, err := appendSide(dst, n.Side)
	return append(dst, byte(n.Priority)), err
}

func (n *Allocate) decode(r *reader) {
	n.Side = r.side()
	n.Priority = protocol.Priority(r.byte())
}

func (n *Allocated) append(dst []byte) ([]byte, error) {
	dst, err := appendSide(dst, n.Side)
	if err != nil {
		return nil, err
	}
	dst = append(dst, flag(n.OK))
	dst = binary.BigEndian.AppendUint16(dst, uint16(n.Channel.Beam))
	dst = binary.BigEndian.AppendUint16(dst, n.Channel.Number)
	return append(dst, byte(n.Cause)), nil
}

func (n *Allocated) decode(r *reader) {
	n.Side = r.side()
	n.OK = r.flag()
	n.Channel.Beam = protocol.Beam(r.uint16())
	n.Channel.Number = r.uint16()
	n.Cause = protocol.Cause(r.byte())
}

func (n *Free) append(dst []byte) ([]byte, error) { return appendSide(dst, n.Side) }

func (n *Free) decode(r *reader) { n.Side = r.side() }

func (n *Freed) append(dst []byte) ([]byte, error) { return appendSide(dst, n.Side) }

func (n *Freed) decode(r *reader) { n.Side = r.side() }
