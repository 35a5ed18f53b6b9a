package ledger

import (
	"encoding/binary"
	"strconv"
)

// SCTP payload protocol identifiers (IANA registry).
const (
	ppidM3UA         = 3
	ppidS1AP         = 18
	ppidDiameter     = 46
	ppidDiameterDTLS = 47
	ppidNGAP         = 60
)

// MTP3 users (Q.704 section 14.2.1).
const (
	userSCCP = 3
	userISUP = 5
)

// TypeOf names the type of a message as far as its first bytes tell it, like "S1AP initiatingMessage 12", "ISUP IAM", "Diameter 272 request".
// It is empty for protocols that it does not know and for messages that are too short.
func TypeOf(ppid uint32, payload []byte) string {
	switch ppid {
	case ppidS1AP:
		return application("S1AP ", payload)
	case ppidNGAP:
		return application("NGAP ", payload)
	case ppidM3UA:
		return m3ua(payload)
	case ppidDiameter, ppidDiameterDTLS:
		return diameter(payload)
	default:
		return ""
	}
}

// application reads the choice and the procedure code of an S1AP-PDU (TS 36.413) or NGAP-PDU (TS 38.413), aligned PER.
func application(protocol string, b []byte) string {
	if len(b) < 2 {
		return ""
	}
	choices := [...]string{0x00: "initiatingMessage ", 0x20: "successfulOutcome ", 0x40: "unsuccessfulOutcome "}
	if int(b[0]) >= len(choices) || choices[b[0]] == "" {
		return ""
	}
	return protocol + choices[b[0]] + strconv.Itoa(int(b[1]))
}

// diameter reads command code and R bit (RFC 6733 section 3).
func diameter(b []byte) string {
	if len(b) < 20 || b[0] != 1 {
		return ""
	}
	kind := " answer"
	if b[4]&0x80 != 0 {
		kind = " request"
	}
	return "Diameter " + strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[4:])&0xFFFFFF), 10) + kind
}

// m3ua names the message (RFC 4666 section 3.1), or what is in it when it carries data.
func m3ua(b []byte) string {
	if len(b) < 8 {
		return ""
	}
	class, kind := b[2], b[3]
	if class == 1 && kind == 1 {
		return transfer(b[8:])
	}
	if name := m3uaName(class, kind); name != "" {
		return "M3UA " + name
	}
	return "M3UA " + strconv.Itoa(int(class)) + "." + strconv.Itoa(int(kind))
}

// m3uaName names classes and types of RFC 4666 section 3.1.2.
func m3uaName(class, kind byte) string {
	names := [...][7]string{
		0: {"ERR", "NTFY"},
		2: {1: "DUNA", "DAVA", "DAUD", "SCON", "DUPU", "DRST"},
		3: {1: "ASPUP", "ASPDN", "BEAT", "ASPUP ACK", "ASPDN ACK", "BEAT ACK"},
		4: {1: "ASPAC", "ASPIA", "ASPAC ACK", "ASPIA ACK"},
		9: {1: "REG REQ", "REG RSP", "DEREG REQ", "DEREG RSP"},
	}
	if int(class) >= len(names) {
		return ""
	}
	return pick(names[class][:], kind)
}

// transfer looks for the protocol data parameter (RFC 4666 section 3.3.1) of a DATA message.
func transfer(b []byte) string {
	const protocolData, fixed = 0x0210, 12
	for len(b) >= 4 {
		tag, length := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if length < 4 || length > len(b) {
			break
		}
		if tag == protocolData && length >= 4+fixed {
			return mtp3(b[4+8], b[4+fixed:length])
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	return "M3UA DATA"
}

// mtp3 names the message of an MTP3 user.
func mtp3(user byte, b []byte) string {
	const circuit = 2 // bytes of the circuit identification code before the type
	switch {
	case user == userISUP && len(b) > circuit:
		return "ISUP " + orNumber(isupName(b[circuit]), b[circuit])
	case user == userSCCP && len(b) > 0:
		return "SCCP " + orNumber(sccpName(b[0]), b[0])
	default:
		return "M3UA DATA"
	}
}

// isupName names the message types of Q.763 table 4.
func isupName(kind byte) string {
	names := [...]string{
		0x01: "IAM", 0x02: "SAM", 0x03: "INR", 0x04: "INF", 0x05: "COT", 0x06: "ACM", 0x07: "CON", 0x08: "FOT", 0x09: "ANM",
		0x0C: "REL", 0x0D: "SUS", 0x0E: "RES", 0x10: "RLC", 0x11: "CCR", 0x12: "RSC", 0x13: "BLO", 0x14: "UBL", 0x15: "BLA", 0x16: "UBA",
		0x17: "GRS", 0x18: "CGB", 0x19: "CGU", 0x1A: "CGBA", 0x1B: "CGUA", 0x1F: "FAR", 0x20: "FAA", 0x21: "FRJ", 0x24: "LPA",
		0x28: "PAM", 0x29: "GRA", 0x2A: "CQM", 0x2B: "CQR", 0x2C: "CPG", 0x2D: "USR", 0x2E: "UCIC", 0x2F: "CFN", 0x30: "OLM",
		0x31: "CRG", 0x32: "NRM", 0x33: "FAC", 0x34: "UPT", 0x35: "UPA", 0x36: "IDR", 0x37: "IRS", 0x38: "SGM",
	}
	return pick(names[:], kind)
}

// sccpName names the message types of Q.713 table 1.
func sccpName(kind byte) string {
	names := [...]string{
		1: "CR", "CC", "CREF", "RLSD", "RLC", "DT1", "DT2", "AK", "UDT", "UDTS", "ED", "EA", "RSR", "RSC", "ERR", "IT", "XUDT", "XUDTS", "LUDT", "LUDTS",
	}
	return pick(names[:], kind)
}

// pick gives a name, empty where there is none.
func pick(names []string, kind byte) string {
	if int(kind) < len(names) {
		return names[kind]
	}
	return ""
}

func orNumber(name string, kind byte) string {
	if name == "" {
		return strconv.Itoa(int(kind))
	}
	return name
}
