package key

import "strconv"

// Fault says which field of a message made it impossible to tell its session. It is an
// error that costs no allocation; its numbers are of no meaning outside the process,
// and callers count by it.
type Fault uint8 //nolint:errname // it is the reason why, one of a closed set, and an error only in passing

const errNone Fault = 0

// The faults of the two application protocols in aligned PER. Those of NGAP follow
// those of S1AP in the same order, perFaults further on.
const (
	errMessageType Fault = iota + 1
	errMessageTypeUnknown
	errMessageLength
	errMessageFragment
	errMessageRest
	errElements
	errElementLength
	errElementFragment
	errUEID
	errUEIDRange
	errUEIDRest
	errUEIDPair
	perFaults = iota
)

// The faults of the other protocols.
const (
	errM3UAHeader Fault = 2*perFaults + 1 + iota
	errM3UAVersion
	errM3UALength
	errM3UARest
	errM3UAParameter
	errM3UAParameterLength
	errM3UANoData
	errM3UAData
	errM3UACircuit
	errDiameterHeader
	errDiameterVersion
	errDiameterLength
	errDiameterRest
	errDiameterAVP
	errDiameterAVPLength
	errDiameterVendor
	errDiameterSession
	errH248Start
	errH248Braces
	errH248Text
	errH248Context
	errH248Tag
	errH248Length
	errH248Rest
	errH248Number
	errESSPHeader
	errESSPVersion
	errESSPStation
)

// Faults is one more than the largest Fault: the length of an array counted by it.
const Faults = int(errESSPStation) + 1

// Error returns protocol, field and what is wrong with it.
func (f Fault) Error() string { return f.String() }

// String returns protocol, field and what is wrong with it, such as
// "s1ap: RAN UE id: length past the end". It does not allocate.
func (f Fault) String() string {
	switch {
	case f == errNone:
		return "none"
	case f <= 2*perFaults:
		return f.per()
	case int(f) < Faults:
		return f.other()
	default:
		return "fault " + strconv.Itoa(int(f))
	}
}

func (f Fault) per() string {
	texts := [...][2]string{
		errMessageType:        {"s1ap: message type: cut short", "ngap: message type: cut short"},
		errMessageTypeUnknown: {"s1ap: message type: unknown", "ngap: message type: unknown"},
		errMessageLength:      {"s1ap: message: length past the end", "ngap: message: length past the end"},
		errMessageFragment:    {"s1ap: message: fragment length impossible", "ngap: message: fragment length impossible"},
		errMessageRest:        {"s1ap: message: bytes after the end", "ngap: message: bytes after the end"},
		errElements:           {"s1ap: information elements: fewer than counted", "ngap: information elements: fewer than counted"},
		errElementLength:      {"s1ap: information element: length past the end", "ngap: information element: length past the end"},
		errElementFragment:    {"s1ap: information element: fragment length impossible", "ngap: information element: fragment length impossible"},
		errUEID:               {"s1ap: RAN UE id: length past the end", "ngap: RAN UE id: length past the end"},
		errUEIDRange:          {"s1ap: RAN UE id: out of range", "ngap: RAN UE id: out of range"},
		errUEIDRest:           {"s1ap: RAN UE id: bytes after the end", "ngap: RAN UE id: bytes after the end"},
		errUEIDPair:           {"s1ap: UE id pair: length past the end", "ngap: UE id pair: length past the end"},
	}

	if f > perFaults {
		return texts[f-perFaults][1]
	}

	return texts[f][0]
}

func (f Fault) other() string {
	texts := [...]string{
		errM3UAHeader:          "m3ua: common header: cut short",
		errM3UAVersion:         "m3ua: version: not 1",
		errM3UALength:          "m3ua: message length: past the end",
		errM3UARest:            "m3ua: message length: bytes after the end",
		errM3UAParameter:       "m3ua: parameter: cut short",
		errM3UAParameterLength: "m3ua: parameter length: past the end",
		errM3UANoData:          "m3ua: protocol data: missing",
		errM3UAData:            "m3ua: protocol data: cut short",
		errM3UACircuit:         "m3ua: circuit identification code: cut short",
		errDiameterHeader:      "diameter: header: cut short",
		errDiameterVersion:     "diameter: version: not 1",
		errDiameterLength:      "diameter: message length: past the end",
		errDiameterRest:        "diameter: message length: bytes after the end",
		errDiameterAVP:         "diameter: AVP: header cut short",
		errDiameterAVPLength:   "diameter: AVP length: past the end",
		errDiameterVendor:      "diameter: AVP length: shorter than its header",
		errDiameterSession:     "diameter: Session-Id: empty",
		errH248Start:           "h248: message: neither MEGACO text nor BER",
		errH248Braces:          "h248: braces: not in pairs",
		errH248Text:            "h248: quoted or octet string: no end",
		errH248Context:         "h248: context id: out of range",
		errH248Tag:             "h248: tag: cut short or unexpected",
		errH248Length:          "h248: length: past the end",
		errH248Rest:            "h248: message: bytes after the end",
		errH248Number:          "h248: context id: not an unsigned 32-bit integer",
		errESSPHeader:          "essp: header: cut short",
		errESSPVersion:         "essp: version: not 1",
		errESSPStation:         "essp: station: 0",
	}

	return texts[f]
}
