package dispatcher

import (
	"fmt"

	"skyring/protocol"
)

// payloadProtocol is what messages are counted by: their SCTP payload protocol
// identifier, as far as it has a name (IANA registry).
type payloadProtocol uint8

const (
	payloadOther payloadProtocol = iota
	payloadESSP
	payloadM2UA
	payloadM3UA
	payloadH248
	payloadS1AP
	payloadX2AP
	payloadDiameter
	payloadNGAP
	payloadXnAP

	payloadProtocols = int(payloadXnAP) + 1
)

func protocolOf(ppid uint32) payloadProtocol {
	switch ppid {
	case protocol.PPID:
		return payloadESSP
	case 2:
		return payloadM2UA
	case 3:
		return payloadM3UA
	case 7:
		return payloadH248
	case 18:
		return payloadS1AP
	case 27:
		return payloadX2AP
	case 46, 47: // over SCTP, and over DTLS over SCTP
		return payloadDiameter
	case 60:
		return payloadNGAP
	case 61:
		return payloadXnAP
	default:
		return payloadOther
	}
}

// String is the protocol as metrics name it.
func (p payloadProtocol) String() string {
	switch p {
	case payloadOther:
		return "other"
	case payloadESSP:
		return "essp"
	case payloadM2UA:
		return "m2ua"
	case payloadM3UA:
		return "m3ua"
	case payloadH248:
		return "h248"
	case payloadS1AP:
		return "s1ap"
	case payloadX2AP:
		return "x2ap"
	case payloadDiameter:
		return "diameter"
	case payloadNGAP:
		return "ngap"
	case payloadXnAP:
		return "xnap"
	default:
		return fmt.Sprintf("protocol(%d)", uint8(p))
	}
}
