package protocol

import (
	"fmt"
	"strconv"
)

// PPID is the SCTP payload protocol identifier of ESSP: "ESSP" in ASCII. It is private
// use, not registered with IANA (RFC 9260 section 15.5).
const PPID uint32 = 0x45535350

// StationID names an earth station, 1 and above. 0 names all stations of an association
// and is allowed only in what a gateway sends: LOGON-PROMPT, OVERLOAD and ERROR.
type StationID uint64

// String returns the id as 16 hexadecimal digits, as station keys print it.
func (s StationID) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// Beam is the number of a spot beam within the network.
type Beam uint16

// String returns the number in decimal.
func (b Beam) String() string { return strconv.Itoa(int(b)) }

// Channel is a pair of carriers of a beam, which one call's side occupies. Numbers begin
// at 1; number 0 is no channel.
type Channel struct {
	Beam   Beam
	Number uint16
}

// String returns beam and number, such as "12/7".
func (c Channel) String() string { return c.Beam.String() + "/" + strconv.Itoa(int(c.Number)) }

// CallReference names a call between one station and its gateway. The lower 15 bits are
// a number from 1, chosen by the side that bit 15 says. 0 is no call.
type CallReference uint16

const (
	// CallGateway is the bit of references that the gateway chose: calls to the station.
	CallGateway CallReference = 0x8000
	// NoCall is the reference of messages that are about no call.
	NoCall CallReference = 0
	// MaxCall is the largest number of a reference, without CallGateway.
	MaxCall CallReference = 0x7FFF
)

// FromGateway tells whether the gateway chose the reference.
func (c CallReference) FromGateway() bool { return c&CallGateway != 0 }

// Valid tells whether the reference names a call: a side and a number that is not 0.
func (c CallReference) Valid() bool { return c&^CallGateway != 0 }

// String returns "none", or the side that chose it and the number, such as "station-3".
func (c CallReference) String() string {
	switch {
	case c == NoCall:
		return "none"
	case c.FromGateway():
		return "gateway-" + strconv.Itoa(int(c&^CallGateway))
	default:
		return "station-" + strconv.Itoa(int(c))
	}
}

// The services of a call, section 5.15. Other numbers are the operator's to use.
const (
	ServiceVoice uint8 = 1 // voice, with the codec of the network
	ServiceData  uint8 = 2 // circuit data
	ServiceFax   uint8 = 3 // facsimile
)
