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

	table := [...]layout{
		ElementClass:         {"CLASS", 1, 1<<8 - 1},
		ElementHeartbeat:     {"HEARTBEAT-INTERVAL", 4, 1<<32 - 1},
		ElementInactivity:    {"INACTIVITY", 4, 1<<32 - 1},
		ElementTime:          {"TIME", 8, 1<<63 - 1},
		ElementRetryAfter:    {"RETRY-AFTER", 4, 1<<32 - 1},
		ElementStayAway:      {"STAY-AWAY", 4, 1<<32 - 1},
		ElementQueuePosition: {"QUEUE-POSITION", 2, 1<<16 - 1},
		ElementLockTimeout:   {"LOCK-TIMEOUT", 4, 1<<32 - 1},
		ElementValidity:      {"VALIDITY", 4, 1<<32 - 1},
		ElementCallState:     {"CALL-STATE", 1, uint64(maxCallState)},
		ElementErrorElement:  {"ERROR-ELEMENT", 1, 1<<8 - 1},
		ElementErrorOffset:   {"ERROR-OFFSET", 2, 1<<16 - 1},
	}
	if int(t) >= len(table) {
		return layout{}
	}

	return table[t]
}

func (t Element) mustLayout() layout {
	table := [...]layout{
		ElementBootNonce - MustUnderstand:    {"BOOT-NONCE", 8, 1<<64 - 1},
		ElementBeam - MustUnderstand:         {"BEAM", 2, 1<<16 - 1},
		ElementNonce - MustUnderstand:        {"NONCE", NonceSize, 0},
		ElementProof - MustUnderstand:        {"PROOF", ProofSize, 0},
		ElementCause - MustUnderstand:        {"CAUSE", 1, 1<<8 - 1},
		ElementCalled - MustUnderstand:       {"CALLED", 8, 1<<64 - 1},
		ElementCalling - MustUnderstand:      {"CALLING", 8, 1<<64 - 1},
		ElementService - MustUnderstand:      {"SERVICE", 1, 1<<8 - 1},
		ElementChannel - MustUnderstand:      {"CHANNEL", 4, 1<<32 - 1},
		ElementLocked - MustUnderstand:       {"LOCKED", 1, 1},
		ElementPriority - MustUnderstand:     {"PRIORITY", 1, uint64(MaxPriority)},
		ElementLevel - MustUnderstand:        {"LEVEL", 1, MaxLevel},
		ElementCapacityKind - MustUnderstand: {"CAPACITY-KIND", 1, uint64(maxCapacityKind)},
		ElementAmount - MustUnderstand:       {"AMOUNT", 4, 1<<32 - 1},
	}
	if int(t-MustUnderstand) >= len(table) {
		return layout{}
	}

	return table[t-MustUnderstand]
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
