package key

// application is what S1AP and NGAP differ in, as far as their messages name a UE.
// Both are aligned PER and begin alike (3GPP TS 36.413 and TS 38.413, section 9.4):
//
//	PDU ::= CHOICE { initiatingMessage, successfulOutcome, unsuccessfulOutcome, ... }
//	each    SEQUENCE { procedureCode INTEGER (0..255), criticality, value OPEN TYPE }
//	value   SEQUENCE { protocolIEs SEQUENCE (SIZE (0..65535)) OF Field, ... }
//	Field   SEQUENCE { id INTEGER (0..65535), criticality, value OPEN TYPE }
//
//	octet 0      extension bit, 2 bits of choice, padding
//	octet 1      procedure code
//	octet 2      2 bits of criticality, padding
//	octets 3...  length of the value; 1 octet extension bit and padding; 2 octets number of fields
//	a field      2 octets id; 2 bits of criticality, padding; length; value
type application struct {
	kind     Kind
	faults   Fault  // what is added to S1AP's faults
	ranID    uint16 // id of the element that is the RAN's UE id
	ids      uint16 // id of the element that may be the pair of core's and RAN's UE id
	ranSize  int    // octets of the largest RAN UE id
	pairBits uint8  // leading bits of ids that say: it is the pair
	pairMask uint8  // which bits of the first octet those are
	coreAt   uint8  // bits before the length of the core's UE id in the pair
	coreBits uint8  // bits of that length
	coreSize int    // octets of the largest core UE id
}

// append appends the key of a message: by its RAN UE id if it has one, else by
// association. Ids within other elements (lists of UEs as in RESET, containers) are not
// looked at: such a message is not about one UE of this association.
func (a *application) append(dst []byte, association uint64, payload []byte) ([]byte, Fault) {
	value, fault := a.open(payload)
	if fault != errNone {
		return nil, fault + a.faults
	}

	ue, found, fault := a.find(&value)
	if fault != errNone {
		return nil, fault + a.faults
	}

	if !found {
		return Association(dst, association), errNone
	}

	return appendNumbered(dst, a.kind, association, ue), errNone
}

// open reads up to the message's value.
func (a *application) open(payload []byte) (octets, Fault) {
	if len(payload) < 3 {
		return octets{}, errMessageType
	}

	if payload[0] >= 0x60 { // the extension bit, or the fourth of three choices
		return octets{}, errMessageTypeUnknown
	}

	value, p := openType(payload[3:])

	switch {
	case p == pastTheEnd:
		return value, errMessageLength
	case p == impossible:
		return value, errMessageFragment
	case !value.more && value.left < len(value.rest):
		return value, errMessageRest
	default:
		return value, errNone
	}
}

// find goes through the elements to the first that names a UE of the RAN.
func (a *application) find(value *octets) (ue uint32, found bool, fault Fault) {
	head, p := value.number(3)
	if p != fine {
		return 0, false, p.fault(errElements, errMessageFragment)
	}

	for range head & 0xFFFF {
		field, p := value.number(3)
		if p != fine {
			return 0, false, p.fault(errElements, errMessageFragment)
		}

		n, p := value.length()
		if p != fine {
			return 0, false, p.fault(errElementLength, errElementFragment)
		}

		switch id := uint16(field >> 8); {
		case n >= fragmentUnit && (id == a.ranID || id == a.ids): // neither is that long
			return 0, false, errElementFragment
		case id == a.ranID:
			ue, fault = a.ranUE(value, n)

			return ue, true, fault
		case id == a.ids:
			ue, found, fault = a.pair(value, n)
			if found || fault != errNone {
				return ue, found, fault
			}
		default:
			if p := value.skipOpenType(n); p != fine {
				return 0, false, p.fault(errElementLength, errElementFragment)
			}
		}
	}

	return 0, false, errNone
}

// fault returns the fault for a problem that is not fine.
func (p problem) fault(past, fragment Fault) Fault {
	if p == impossible {
		return fragment
	}

	return past
}

// ranUE reads a RAN UE id of n octets: an INTEGER whose range takes more than two
// octets, so 2 bits of length less one, padding, and that many octets (X.691 13.2.6).
func (a *application) ranUE(value *octets, n int) (uint32, Fault) {
	first, p := value.octet()
	if n < 1 || p != fine {
		return 0, errUEID
	}

	size := int(first>>6) + 1

	switch {
	case size > a.ranSize:
		return 0, errUEIDRange
	case size+1 > n:
		return 0, errUEID
	case size+1 < n:
		return 0, errUEIDRest
	}

	id, p := value.number(size)
	if p != fine {
		return 0, errUEID
	}

	return uint32(id), errNone
}

// pair reads the element of n octets that holds the pair of ids or the core's alone:
//
//	UE-S1AP-IDs ::= CHOICE { pair, core's, ... }    UE-NGAP-IDs ::= CHOICE { pair, core's, extensions }
//	pair        ::= SEQUENCE { core's, RAN's, extensions OPTIONAL, ... }
func (a *application) pair(value *octets, n int) (ue uint32, found bool, fault Fault) {
	first, p := value.octet()
	if n < 1 || p != fine {
		return 0, false, errUEIDPair
	}

	if first&a.pairMask != a.pairBits {
		if value.skipOpenType(n-1) != fine {
			return 0, false, errElementLength
		}

		return 0, false, errNone
	}

	core := int(first<<a.coreAt>>(8-a.coreBits)) + 1

	switch {
	case core > a.coreSize:
		return 0, false, errUEIDRange
	case core+1 > n-1 || value.skip(core) != fine:
		return 0, false, errUEIDPair
	}

	// The RAN's id follows, and possibly extensions.
	size, p := value.octet()
	if p != fine {
		return 0, false, errUEIDPair
	}

	need := int(size>>6) + 1

	switch {
	case need > a.ranSize:
		return 0, false, errUEIDRange
	case 1+core+1+need > n:
		return 0, false, errUEID
	}

	id, p := value.number(need)
	if p != fine {
		return 0, false, errUEID
	}

	return uint32(id), true, errNone
}
