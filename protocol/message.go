package protocol

// Message is one of the messages of section 5, as a value: LogonRequest and so on.
type Message interface {
	// Type returns the type of the message.
	Type() Type

	encode(e *encoder)
}

// Append appends the one encoding of a message to dst and returns the longer slice. The
// type of h may be 0 or that of m. The error is an *EncodeError: Decode would refuse it;
// dst is then returned as it was. Durations are rounded up to milliseconds.
func Append(dst []byte, h Header, m Message) ([]byte, error) {
	if h.Type == 0 {
		h.Type = m.Type()
	}

	if h.Type != m.Type() {
		return dst, &EncodeError{Type: m.Type(), Problem: ErrType}
	}

	if _, problem := h.check(); problem != ErrNone {
		return dst, &EncodeError{Type: h.Type, Problem: problem}
	}

	e := encoder{b: h.append(dst, 0)}
	m.encode(&e)

	if e.problem != ErrNone {
		return dst, &EncodeError{Type: h.Type, Element: e.element, Problem: e.problem}
	}

	length := len(e.b) - len(dst) // far below 65536: elements are of fixed length
	e.b[len(dst)+offsetLength] = byte(length >> 8)
	e.b[len(dst)+offsetLength+1] = byte(length)

	return e.b, nil
}

// Decode reads a message. It is strict: what it takes, Append writes again byte for byte,
// apart from elements that it does not know and may pass over. The error is a
// *DecodeError; the header is then what the bytes say, for an answer, as far as there are
// enough of them, and the message is nil. Nothing returned shares memory with b.
func Decode(b []byte) (Header, Message, error) { //nolint:ireturn // which message it is, is the question
	h, offset, problem := readHeader(b)
	if problem != ErrNone {
		return h, nil, &DecodeError{Offset: offset, Problem: problem}
	}

	d := decoder{b: b, at: HeaderSize}
	m := decodeAccess(h.Type, &d)

	d.finish()

	if d.err != nil {
		return h, nil, d.err
	}

	return h, m, nil
}

// decodeAccess reads the elements of log-on and capacity messages.
func decodeAccess(t Type, d *decoder) Message { //nolint:ireturn // which message it is, is the question
	switch t { //nolint:exhaustive // the others have their switch below
	case TypeLogonRequest:
		return decodeLogonRequest(d)
	case TypeLogonChallenge:
		return decodeLogonChallenge(d)
	case TypeLogonAuth:
		return decodeLogonAuth(d)
	case TypeLogonConfirm:
		return decodeLogonConfirm(d)
	case TypeLogonAck:
		return LogonAck{}
	case TypeLogonReject:
		return decodeLogonReject(d)
	case TypeLogonPrompt:
		return LogonPrompt{}
	case TypeLogonInterrogate:
		return decodeLogonInterrogate(d)
	case TypeLogoffRequest:
		return decodeLogoffRequest(d)
	case TypeLogoffAck:
		return LogoffAck{}
	case TypeHeartbeat:
		return Heartbeat{}
	case TypeHeartbeatAck:
		return HeartbeatAck{}
	case TypeCapacityRequest:
		return decodeCapacityRequest(d)
	case TypeCapacityGrant:
		return decodeCapacityGrant(d)
	default:
		return decodeCall(t, d)
	}
}

// decodeCall reads the elements of call messages.
func decodeCall(t Type, d *decoder) Message { //nolint:ireturn // which message it is, is the question
	switch t { //nolint:exhaustive // the others have their switch below
	case TypeCallSetup:
		return decodeCallSetup(d)
	case TypeCallProceeding:
		return CallProceeding{}
	case TypeCallAnnounce:
		return decodeCallAnnounce(d)
	case TypeCallQueued:
		return decodeCallQueued(d)
	case TypeCallAlert:
		return CallAlert{}
	case TypeCallConnect:
		return CallConnect{}
	case TypeCallConnectAck:
		return CallConnectAck{}
	case TypeChannelAssign:
		return decodeChannelAssign(d)
	case TypeChannelStatus:
		return decodeChannelStatus(d)
	case TypeDisconnect:
		return decodeDisconnect(d)
	case TypeRelease:
		return decodeRelease(d)
	case TypeReleaseComplete:
		return decodeReleaseComplete(d)
	case TypePreempt:
		return decodePreempt(d)
	case TypeHandover:
		return decodeHandover(d)
	default:
		return decodeGeneral(t, d)
	}
}

// decodeGeneral reads the elements of messages about calls and stations alike.
func decodeGeneral(t Type, d *decoder) Message { //nolint:ireturn // which message it is, is the question
	switch t { //nolint:exhaustive // the others have their switch below
	case TypeOverload:
		return decodeOverload(d)
	case TypeReset:
		return decodeReset(d)
	case TypeResetAck:
		return ResetAck{}
	case TypeStatusEnquiry:
		return StatusEnquiry{}
	case TypeStatus:
		return decodeStatus(d)
	case TypeError:
		return decodeError(d)
	default:
		panic("essp: no decoder of " + t.String()) // the header was checked
	}
}

// flag is a bool as it is on the wire.
func flag(b bool) uint64 {
	if b {
		return 1
	}

	return 0
}
