package access

import (
	"slices"

	"skyring/processor/saga"
	"skyring/protocol"
)

// Station is what is kept of a station: the body of its record. There is one for each entry of the station table, and for no other station.
type Station struct {
	Profile Profile
	State   State
	Epoch   uint64 // names the association of its last log-on: its leg, when it is not off
	Boot    uint64 // boot nonce of its last log-on
	Beam    protocol.Beam
	Proven  int64  // time of the challenge that it answered last; us, Redis time. Older ones are void.
	Confirm []byte // the LOGON-CONFIRM that answered it, for repetitions
	Sends   uint8  // how often LOGON-CONFIRM, LOGON-INTERROGATE or LOGOFF-REQUEST was sent in this state
	Heard   int64  // when something came from the leg, as far as it was noted; us, Redis time

	Sequence  uint32 // of the gateway's last request since the station's boot
	Reference uint16 // number of the last call reference that the gateway chose
	Calls     []Call
	Requests  []Request // of the gateway, unanswered, oldest first
	Memory    Memory    // of the station's requests

	unknown string // fields of a newer version, as they came
}

// Call is an entry in the table of a station's calls.
type Call struct {
	Reference protocol.CallReference
	Key       []byte // session key of the call
	Side      saga.Side
	Peer      protocol.StationID // the station at the other end
	Priority  protocol.Priority
	State     protocol.CallState // as far as the messages that went by tell it
	Yielded   bool               // it gave way to a call from Peer

	unknown string
}

// ending tells that the call counts no more among the calls at once: its release has begun.
func (c *Call) ending() bool { return c.Yielded || c.State >= protocol.StateDisconnecting }

// Request is a message of the gateway to which the station has to respond.
type Request struct {
	Call     protocol.CallReference
	Type     protocol.Type
	Sequence uint32
	Sends    uint8
	Due      int64 // when it is sent again or given up; us, Redis time
	Payload  []byte

	unknown string
}

// call finds a call by its reference, nil when there is none.
func (s *Station) call(reference protocol.CallReference) *Call {
	for i := range s.Calls {
		if s.Calls[i].Reference == reference {
			return &s.Calls[i]
		}
	}
	return nil
}

// callOf finds a call by its session key, nil when there is none.
func (s *Station) callOf(key []byte) *Call {
	for i := range s.Calls {
		if string(s.Calls[i].Key) == string(key) {
			return &s.Calls[i]
		}
	}
	return nil
}

// forget takes a call off the table, with the requests that were made in it.
func (s *Station) forget(reference protocol.CallReference) {
	s.Calls = slices.DeleteFunc(s.Calls, func(c Call) bool { return c.Reference == reference })
	s.Requests = slices.DeleteFunc(s.Requests, func(r Request) bool { return r.Call == reference })
}

// engaged is how many calls count among the calls at once.
func (s *Station) engaged() int {
	n := 0
	for i := range s.Calls {
		if !s.Calls[i].ending() {
			n++
		}
	}
	return n
}

// maxEnding is how many calls may be in their release, beside those that count. A station that never completes releases fills no record.
const maxEnding = 16

// full tells that the station can have no call more of a priority. Emergency calls do not count what others hold.
func (s *Station) full(priority protocol.Priority) bool {
	if len(s.Calls) >= int(s.Profile.MaxCalls)+maxEnding {
		return true
	}
	return s.engaged() >= int(s.Profile.MaxCalls) && !priority.Emergency()
}

// choose takes a call reference of the gateway's that no call has.
func (s *Station) choose() protocol.CallReference {
	for {
		s.Reference++
		if s.Reference > uint16(protocol.MaxCall) {
			s.Reference = 1
		}
		if reference := protocol.CallGateway | protocol.CallReference(s.Reference); s.call(reference) == nil {
			return reference
		}
	}
}
