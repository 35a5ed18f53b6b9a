package saga

import (
	"fmt"

	"skyring/protocol"
)

// Kind is the type of a notification. Numbers are kept in the state store and never change their meaning.
type Kind uint8

// Kinds of notifications.
const (
	KindSetup       Kind = 1
	KindOffer       Kind = 2
	KindOfferResult Kind = 3
	KindForward     Kind = 4
	KindToStation   Kind = 5
	KindUnanswered  Kind = 6
	KindStationGone Kind = 7
	KindYield       Kind = 8
	KindEndCall     Kind = 9
	KindAllocate    Kind = 10
	KindAllocated   Kind = 11
	KindFree        Kind = 12
	KindFreed       Kind = 13
)

// Side is one end of a call.
type Side uint8

// Sides of a call.
const (
	Calling Side = 1
	Called  Side = 2
)

// Other is the side at the other end.
func (s Side) Other() Side { return Calling + Called - s }

// String is "calling" or "called", "side(9)" for an unknown one.
func (s Side) String() string {
	switch s {
	case Calling:
		return "calling"
	case Called:
		return "called"
	default:
		return fmt.Sprintf("side(%d)", uint8(s))
	}
}

// Notification is one message between records: a pointer to one of the structs of this package.
type Notification interface {
	Kind() Kind
	append(dst []byte) ([]byte, error)
	decode(r *reader)
}

// Setup begins a call: from the calling station's record to the call's, whose key names station, boot, call reference and sequence of the
// CALL-SETUP. The station's record has checked station, profile, priority and the form of the called address, not the called station.
type Setup struct {
	Calling   protocol.StationID
	Called    protocol.StationID     // never equal to Calling
	Reference protocol.CallReference // at the calling station
	Service   uint8
	Priority  protocol.Priority
	Beam      protocol.Beam // of the calling station
}

// Offer asks the called station's record to take a call, and it to send CALL-ANNOUNCE.
type Offer struct {
	Calling  protocol.StationID
	Service  uint8
	Priority protocol.Priority
}

// OfferResult answers an Offer. Accepted says that the called station is there and CALL-ANNOUNCE is on its way, not that it has answered.
type OfferResult struct {
	Accepted bool
	Beam     protocol.Beam  // of the called station; with Accepted
	Cause    protocol.Cause // why not; without Accepted
}

// Forward is a message in the call which a station sent, for the first time: a request or a response, also ERROR as the response to a request. Each
// request is to be answered by one ToStation that names its Sequence, in whatever state the call is: STATUS where there is no other answer. Of the notices
// RELEASE-COMPLETE and STATUS are forwarded too, and not answered.
type Forward struct {
	Side     Side
	Response bool   // it answers a request that the call sent by ToStation, else it is the station's own request
	Sequence uint32 // of the station's request, to be named in ToStation.Answers; with Response that of the request it responds to
	Message  protocol.Message
}

// ToStation is a message for the station of a side. The station's record gives it header and sequence. A request (Answers 0, and no notice) is repeated
// until the station responds; when it never does, Unanswered comes back.
type ToStation struct {
	Answers uint32 // sequence of the station's request to which this is the response; 0: a request of the gateway's own
	Message protocol.Message
}

// Unanswered tells that a station never responded to a request, though its record repeated it.
type Unanswered struct {
	Side Side
	Type protocol.Type // of the request
}

// StationGone tells that a side's station is out of the call, being off, restarted, or having reset it, and that its record has forgotten the call.
// Nothing more comes from there and nothing reaches it.
type StationGone struct {
	Side  Side
	Cause protocol.Cause
}

// Yield tells a call, from its calling station's record, that it gives way to the call which its called station made to its calling station at the
// same time (glare): the calling side is to be released with Cause. The record still knows the call, until EndCall.
type Yield struct {
	Cause protocol.Cause
}

// EndCall makes a station's record forget the call reference, and repeat nothing of the call any more. It is the last the call sends there.
type EndCall struct{}

// Allocate asks a beam's pool for a channel for one side of a call.
type Allocate struct {
	Side     Side
	Priority protocol.Priority
}

// Allocated answers an Allocate.
type Allocated struct {
	Side    Side
	OK      bool
	Channel protocol.Channel // with OK
	Cause   protocol.Cause   // why not; without OK
}

// Free gives back the channel that a side of a call holds. It is the only thing that frees a channel, but for the auditor (R7).
type Free struct {
	Side Side
}

// Freed answers a Free.
type Freed struct {
	Side Side
}

// Kind of the notification.
func (*Setup) Kind() Kind { return KindSetup }

// Kind of the notification.
func (*Offer) Kind() Kind { return KindOffer }

// Kind of the notification.
func (*OfferResult) Kind() Kind { return KindOfferResult }

// Kind of the notification.
func (*Forward) Kind() Kind { return KindForward }

// Kind of the notification.
func (*ToStation) Kind() Kind { return KindToStation }

// Kind of the notification.
func (*Unanswered) Kind() Kind { return KindUnanswered }

// Kind of the notification.
func (*StationGone) Kind() Kind { return KindStationGone }

// Kind of the notification.
func (*Yield) Kind() Kind { return KindYield }

// Kind of the notification.
func (*EndCall) Kind() Kind { return KindEndCall }

// Kind of the notification.
func (*Allocate) Kind() Kind { return KindAllocate }

// Kind of the notification.
func (*Allocated) Kind() Kind { return KindAllocated }

// Kind of the notification.
func (*Free) Kind() Kind { return KindFree }

// Kind of the notification.
func (*Freed) Kind() Kind { return KindFreed }
