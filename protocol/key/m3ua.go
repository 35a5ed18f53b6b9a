package key

import "encoding/binary"

// M3UA as far as keys need it (RFC 4666 sections 3.1, 3.2 and 3.3.1).
const (
	m3uaHeader       = 8
	m3uaTransfer     = 1 // message class
	m3uaData         = 1 // message type of that class
	m3uaProtocolData = 0x0210
	// m3uaDraftData is "Protocol Data 1" of the drafts up to draft-ietf-sigtran-m3ua-06,
	// which equipment of that time still sends: service information octet, routing label, user data.
	m3uaDraftData = 0x0002
)

// MTP3 users (ITU-T Q.704 section 14.2.1).
const (
	serviceSCCP = 3
	serviceISUP = 5
)

// label is where a message comes from and goes to in MTP3.
type label struct {
	origin, destination uint32
	service, selection  byte
	user                []byte // the user part's message
}

// appendM3UA appends the key of an M3UA message (PPID 3): that of its user's session for
// DATA, the association for all management.
//
//	+---------------+---------------+---------------+---------------+
//	|  version = 1  |       0       |     class     |     type      |
//	+---------------+---------------+---------------+---------------+
//	|              length, with this header and padding             |
//	+-------------------------------+-------------------------------+
//	|              tag              |   length, without padding     |
//	+-------------------------------+-------------------------------+
func appendM3UA(dst []byte, association uint64, payload []byte) ([]byte, Fault) {
	if len(payload) < m3uaHeader {
		return nil, errM3UAHeader
	}

	if payload[0] != 1 {
		return nil, errM3UAVersion
	}

	length := uint64(binary.BigEndian.Uint32(payload[4:]))

	switch {
	case length < m3uaHeader || length > uint64(len(payload)):
		return nil, errM3UALength
	case length+3 < uint64(len(payload)): // some leave out the last padding, RFC 4666 section 3.1.4
		return nil, errM3UARest
	}

	if payload[2] != m3uaTransfer || payload[3] != m3uaData {
		return Association(dst, association), errNone
	}

	l, fault := m3uaLabel(payload[m3uaHeader:length])
	if fault != errNone {
		return nil, fault
	}

	return l.append(dst)
}

// m3uaLabel looks for the protocol data among parameters.
func m3uaLabel(parameters []byte) (label, Fault) {
	for len(parameters) > 0 {
		if len(parameters) < 4 {
			return label{}, errM3UAParameter
		}

		tag := binary.BigEndian.Uint16(parameters)
		length := int(binary.BigEndian.Uint16(parameters[2:]))

		if length < 4 || length > len(parameters) {
			return label{}, errM3UAParameterLength
		}

		switch tag {
		case m3uaProtocolData:
			return protocolData(parameters[4:length])
		case m3uaDraftData:
			return serviceInformation(parameters[4:length])
		}

		parameters = parameters[min((length+3)&^3, len(parameters)):]
	}

	return label{}, errM3UANoData
}

// protocolData reads the label of RFC 4666 section 3.3.1: OPC and DPC, 4 octets each,
// service indicator, network indicator, message priority, signalling link selection.
func protocolData(b []byte) (label, Fault) {
	if len(b) < 12 {
		return label{}, errM3UAData
	}

	return label{
		origin:      binary.BigEndian.Uint32(b),
		destination: binary.BigEndian.Uint32(b[4:]),
		service:     b[8],
		selection:   b[11],
		user:        b[12:],
	}, errNone
}

// serviceInformation reads the label as MTP3 has it: service information octet (4 bits
// of service indicator in its lower half), then, least octet first, 14 bits of DPC, 14
// of OPC, 4 of link selection (ITU-T Q.704 sections 14.2 and 15.2).
func serviceInformation(b []byte) (label, Fault) {
	if len(b) < 5 {
		return label{}, errM3UAData
	}

	routing := binary.LittleEndian.Uint32(b[1:])

	return label{
		origin:      routing >> 14 & 0x3FFF,
		destination: routing & 0x3FFF,
		service:     b[0] & 0x0F,
		selection:   byte(routing >> 28),
		user:        b[5:],
	}, errNone
}

// append appends the key of a label. Point codes are sorted, so that both directions
// have the same key. ISUP's circuit is named by the identification code that begins each
// message: 12 bits, least octet first (ITU-T Q.763 section 1.2). All other users have the
// link selection, on which MTP3 keeps messages in order.
func (l label) append(dst []byte) ([]byte, Fault) {
	low, high := min(l.origin, l.destination), max(l.origin, l.destination)
	points := func(kind Kind) []byte {
		dst = append(dst, byte(kind))
		dst = binary.BigEndian.AppendUint32(dst, low)

		return binary.BigEndian.AppendUint32(dst, high)
	}

	switch l.service {
	case serviceISUP:
		if len(l.user) < 2 {
			return nil, errM3UACircuit
		}

		return binary.BigEndian.AppendUint16(points(KindISUP), binary.LittleEndian.Uint16(l.user)&0x0FFF), errNone
	case serviceSCCP:
		return append(points(KindSCCP), l.selection), errNone
	default:
		return append(points(KindM3UA), l.service, l.selection), errNone
	}
}
