package key

import "strconv"

// Fault says which field of a message made it impossible to tell its session. It is an
// error that costs no allocation; its numbers are of no meaning outside the process,
// and callers count by it.
type Fault uint8

const noFault Fault = 0

// The faults of the two application protocols in aligned PER. Those of NGAP follow
// those of S1AP in the same order, perFaults further on.
const (
	faultMessageType Fault = iota + 1
	faultMessageTypeUnknown
	faultMessageLength
	faultMessageFragment
	faultMessageRest
	faultElements
	faultElementLength
	faultElementFragment
	faultUEID
	faultUEIDRange
	faultUEIDRest
	faultUEIDPair
	perFaults = iota
)

const (
	faultM3UAHeader Fault = 2*perFaults + 1 + iota
	faultM3UAVersion
	faultM3UALength
	faultM3UARest
	faultM3UAParameter
	faultM3UAParameterLength
	faultM3UANoData
	faultM3UAData
	faultM3UACircuit
	faultDiameterHeader
	faultDiameterVersion
	faultDiameterLength
	faultDiameterRest
	faultDiameterAVP
	faultDiameterAVPLength
	faultDiameterVendor
	faultDiameterSession
	faultH248Start
	faultH248Braces
	faultH248Text
	faultH248Context
	faultH248Tag
	faultH248Length
	faultH248Rest
	faultH248Number
	// Faults is one more than the largest Fault: the length of an array counted by it.
	Faults
)

// Error returns protocol, field and what is wrong with it.
func (f Fault) Error() string { return f.String() }

// String returns protocol, field and what is wrong with it, such as
// "s1ap: RAN UE id: length past the end". It does not allocate.
func (f Fault) String() string {
	switch {
	case f == noFault:
		return "none"
	case f <= 2*perFaults:
		return f.per()
	case f < faultDiameterHeader:
		return f.m3ua()
	case f < faultH248Start:
		return f.diameter()
	case f < Faults:
		return f.h248()
	default:
		return "fault " + strconv.Itoa(int(f))
	}
}

func (f Fault) per() string {
	names := [...][2]string{
		faultMessageType:        {"s1ap: message type: cut short", "ngap: message type: cut short"},
		faultMessageTypeUnknown: {"s1ap: message type: unknown", "ngap: message type: unknown"},
		faultMessageLength:      {"s1ap: message: length past the end", "ngap: message: length past the end"},
		faultMessageFragment:    {"s1ap: message: fragment length impossible", "ngap: message: fragment length impossible"},
		faultMessageRest:        {"s1ap: message: bytes after the end", "ngap: message: bytes after the end"},
		faultElements:           {"s1ap: information elements: fewer than counted", "ngap: information elements: fewer than counted"},
		faultElementLength:      {"s1ap: information element: length past the end", "ngap: information element: length past the end"},
		faultElementFragment:    {"s1ap: information element: fragment length impossible", "ngap: information element: fragment length impossible"},
		faultUEID:               {"s1ap: RAN UE id: length past the end", "ngap: RAN UE id: length past the end"},
		faultUEIDRange:          {"s1ap: RAN UE id: out of range", "ngap: RAN UE id: out of range"},
		faultUEIDRest:           {"s1ap: RAN UE id: bytes after the end", "ngap: RAN UE id: bytes after the end"},
		faultUEIDPair:           {"s1ap: UE id pair: length past the end", "ngap: UE id pair: length past the end"},
	}

	if f > perFaults {
		return names[f-perFaults][1]
	}

	return names[f][0]
}

func (f Fault) m3ua() string {
	switch f {
	case faultM3UAHeader:
		return "m3ua: common header: cut short"
	case faultM3UAVersion:
		return "m3ua: version: not 1"
	case faultM3UALength:
		return "m3ua: message length: past the end"
	case faultM3UARest:
		return "m3ua: message length: bytes after the end"
	case faultM3UAParameter:
		return "m3ua: parameter: cut short"
	case faultM3UAParameterLength:
		return "m3ua: parameter length: past the end"
	case faultM3UANoData:
		return "m3ua: protocol data: missing"
	case faultM3UAData:
		return "m3ua: protocol data: cut short"
	default:
		return "m3ua: circuit identification code: cut short"
	}
}

func (f Fault) diameter() string {
	switch f {
	case faultDiameterHeader:
		return "diameter: header: cut short"
	case faultDiameterVersion:
		return "diameter: version: not 1"
	case faultDiameterLength:
		return "diameter: message length: past the end"
	case faultDiameterRest:
		return "diameter: message length: bytes after the end"
	case faultDiameterAVP:
		return "diameter: AVP: header cut short"
	case faultDiameterAVPLength:
		return "diameter: AVP length: past the end"
	case faultDiameterVendor:
		return "diameter: AVP length: shorter than its header"
	default:
		return "diameter: Session-Id: empty"
	}
}

func (f Fault) h248() string {
	switch f {
	case faultH248Start:
		return "h248: message: neither MEGACO text nor BER"
	case faultH248Braces:
		return "h248: braces: not in pairs"
	case faultH248Text:
		return "h248: quoted or octet string: no end"
	case faultH248Context:
		return "h248: context id: out of range"
	case faultH248Tag:
		return "h248: tag: cut short or unexpected"
	case faultH248Length:
		return "h248: length: past the end"
	case faultH248Rest:
		return "h248: message: bytes after the end"
	default:
		return "h248: context id: not an unsigned 32-bit integer"
	}
}
