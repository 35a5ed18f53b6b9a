package protocol

import "strconv"

// Element is the type of an element (section 4). An element whose type has the bit
// MustUnderstand set makes a message invalid for those who do not know it there; any
// other they pass over.
type Element uint8

// MustUnderstand is the comprehension bit.
const MustUnderstand Element = 0x80

// The elements, section 4.2.
const (
	ElementClass         Element = 0x01
	ElementHeartbeat     Element = 0x02
	ElementInactivity    Element = 0x03
	ElementTime          Element = 0x04
	ElementRetryAfter    Element = 0x05
	ElementStayAway      Element = 0x06
	ElementQueuePosition Element = 0x07
	ElementLockTimeout   Element = 0x08
	ElementValidity      Element = 0x09
	ElementCallState     Element = 0x0A
	ElementErrorElement  Element = 0x0B
	ElementErrorOffset   Element = 0x0C
	ElementBootNonce     Element = 0x81
	ElementBeam          Element = 0x82
	ElementNonce         Element = 0x83
	ElementProof         Element = 0x84
	ElementCause         Element = 0x85
	ElementCalled        Element = 0x86
	ElementCalling       Element = 0x87
	ElementService       Element = 0x88
	ElementChannel       Element = 0x89
	ElementLocked        Element = 0x8A
	ElementPriority      Element = 0x8B
	ElementLevel         Element = 0x8C
	ElementCapacityKind  Element = 0x8D
	ElementAmount        Element = 0x8E
)

// layout is what the value of an element may be: a number of size bytes up to max, or
// size bytes when max is 0.
type layout struct {
	name string
	size int
	max  uint64
}

// layout returns the element's layout; size 0: no such element.
func (t Element) layout() layout {
	if t&MustUnderstand != 0 {
		return t.mustLayout()
	}

	switch t {
	case ElementClass:
		return layout{"CLASS", 1, 1<<8 - 1}
	case ElementHeartbeat:
		return layout{"HEARTBEAT-INTERVAL", 4, 1<<32 - 1}
	case ElementInactivity:
		return layout{"INACTIVITY", 4, 1<<32 - 1}
	case ElementTime:
		return layout{"TIME", 8, 1<<63 - 1}
	case ElementRetryAfter:
		return layout{"RETRY-AFTER", 4, 1<<32 - 1}
	case ElementStayAway:
		return layout{"STAY-AWAY", 4, 1<<32 - 1}
	case ElementQueuePosition:
		return layout{"QUEUE-POSITION", 2, 1<<16 - 1}
	case ElementLockTimeout:
		return layout{"LOCK-TIMEOUT", 4, 1<<32 - 1}
	case ElementValidity:
		return layout{"VALIDITY", 4, 1<<32 - 1}
	case ElementCallState:
		return layout{"CALL-STATE", 1, uint64(maxCallState)}
	case ElementErrorElement:
		return layout{"ERROR-ELEMENT", 1, 1<<8 - 1}
	case ElementErrorOffset:
		return layout{"ERROR-OFFSET", 2, 1<<16 - 1}
	default:
		return layout{}
	}
}

func (t Element) mustLayout() layout {
	switch t {
	case ElementBootNonce:
		return layout{"BOOT-NONCE", 8, 1<<64 - 1}
	case ElementBeam:
		return layout{"BEAM", 2, 1<<16 - 1}
	case ElementNonce:
		return layout{"NONCE", NonceSize, 0}
	case ElementProof:
		return layout{"PROOF", ProofSize, 0}
	case ElementCause:
		return layout{"CAUSE", 1, 1<<8 - 1}
	case ElementCalled:
		return layout{"CALLED", 8, 1<<64 - 1}
	case ElementCalling:
		return layout{"CALLING", 8, 1<<64 - 1}
	case ElementService:
		return layout{"SERVICE", 1, 1<<8 - 1}
	case ElementChannel:
		return layout{"CHANNEL", 4, 1<<32 - 1}
	case ElementLocked:
		return layout{"LOCKED", 1, 1}
	case ElementPriority:
		return layout{"PRIORITY", 1, uint64(MaxPriority)}
	case ElementLevel:
		return layout{"LEVEL", 1, MaxLevel}
	case ElementCapacityKind:
		return layout{"CAPACITY-KIND", 1, uint64(maxCapacityKind)}
	case ElementAmount:
		return layout{"AMOUNT", 4, 1<<32 - 1}
	default:
		return layout{}
	}
}

// String returns the element's name as the specification has it, "header" for 0, or the
// type in hexadecimal.
func (t Element) String() string {
	if t == 0 {
		return "header"
	}

	if l := t.layout(); l.size != 0 {
		return l.name
	}

	return "element 0x" + strconv.FormatUint(uint64(t), 16)
}
