package call

import (
	"encoding/json"
	"fmt"

	"skyring/protocol"
)

// Party says who began to release a call.
type Party string

// Who releases calls.
const (
	PartyCalling Party = "calling" // the calling station, or its going off
	PartyCalled  Party = "called"  // the called station, or its going off, or its refusal
	PartyGateway Party = "gateway" // no channel, a timer
)

// CDR is the record of one call that ended, also of one that never came about: exactly one is written for each. Times are us since the Unix epoch,
// Redis time, 0 when the call never came so far. It travels as JSON with the field names below.
type CDR struct {
	Call           string            `json:"call"`           // session key as skyring/protocol/key formats it; unique for ever
	Calling        string            `json:"calling"`        // station id, 16 hexadecimal digits
	Called         string            `json:"called"`         // station id, 16 hexadecimal digits
	CallingBeam    protocol.Beam     `json:"callingBeam"`    // number of the beam
	CalledBeam     protocol.Beam     `json:"calledBeam"`     // number of the beam; 0 also when the called station did not take the call
	CallingChannel uint16            `json:"callingChannel"` // number in its beam, 0: none was held
	CalledChannel  uint16            `json:"calledChannel"`  // number in its beam, 0: none was held
	Service        uint8             `json:"service"`        // as in CALL-SETUP
	Priority       protocol.Priority `json:"priority"`       // 0 to 15
	Setup          int64             `json:"setupUs"`        // CALL-SETUP was accepted
	Assigned       int64             `json:"assignedUs"`     // both channels were there and were assigned
	Alerting       int64             `json:"alertingUs"`     // CALL-ALERT went to the calling station
	Answered       int64             `json:"answeredUs"`     // CALL-CONNECT went to the calling station
	Released       int64             `json:"releasedUs"`     // the release began
	Ended          int64             `json:"endedUs"`        // both stations had released
	Duration       int64             `json:"durationUs"`     // from answer to release, us; 0: not answered
	Cause          protocol.Cause    `json:"cause"`          // number of the first cause of the release, of protocol's registry
	CauseName      string            `json:"causeName"`      // its name there
	ReleasedBy     Party             `json:"releasedBy"`     // calling, called or gateway
	Node           string            `json:"node"`           // id of the processor that wrote it
}

// Append encodes the record behind dst, as one line of JSON without the line's end.
func (r *CDR) Append(dst []byte) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return dst, fmt.Errorf("encode call record: %w", err)
	}
	return append(dst, b...), nil
}

// DecodeCDR reads what Append wrote. Fields that it does not know are left out.
func DecodeCDR(b []byte) (CDR, error) {
	var r CDR
	if err := json.Unmarshal(b, &r); err != nil {
		return CDR{}, fmt.Errorf("decode call record: %w", err)
	}
	return r, nil
}
