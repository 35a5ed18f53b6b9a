package call

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"skyring/processor/body"
	"skyring/processor/saga"
	"skyring/protocol"
)

// Call is the body of a call's record. The zero value is that of a call that was not set up. Times are us since the Unix epoch, Redis time, 0: it did
// not happen.
type Call struct {
	State    State
	Calling  End
	Called   End
	Service  uint8
	Priority protocol.Priority

	Setup    int64 // CALL-SETUP was accepted
	Assigned int64 // CHANNEL-ASSIGN went to both stations
	Alerting int64 // CALL-ALERT went to the calling station
	Answered int64 // CALL-CONNECT went to the calling station
	Released int64 // the release began
	Ended    int64 // both stations had released, and the CDR was written

	Cause      protocol.Cause // of the release
	ReleasedBy Party          // with Released

	Alerted         bool   // CALL-ALERT came from the called station
	Connected       bool   // CALL-CONNECT came from the called station
	ConnectSequence uint32 // of that CALL-CONNECT
	Confirmed       bool   // CALL-CONNECT-ACK came from the calling station

	armed   uint16 // a bit per timer that is armed
	unknown []byte // fields of a newer version, kept as they came
}

// End is one side of a call.
type End struct {
	Station  protocol.StationID
	Beam     protocol.Beam
	Dialogue Dialogue
	Hold     Hold
	Channel  uint16 // the channel in its beam that is or was held, 0: none
	Locked   bool   // the station said that its modem has locked
	Repeated bool   // RELEASE was sent again

	unknown string
}

// end is one side of the call.
func (c *Call) end(s saga.Side) *End {
	if s == saga.Called {
		return &c.Called
	}
	return &c.Calling
}

// Live says that the call has begun and not ended: it is to be kept.
func (c *Call) Live() bool { return c.State != Idle && c.State != Ended }

// clearing says that the release has begun.
func (c *Call) clearing() bool { return c.Released != 0 }

func (c *Call) locked() bool { return c.Calling.Locked && c.Called.Locked }

// Armed lists the timers that are armed.
func (c *Call) Armed() []Timer {
	var armed []Timer
	for t := T303; t <= maxTimer; t++ {
		if c.isArmed(t) {
			armed = append(armed, t)
		}
	}
	return armed
}

func (c *Call) isArmed(t Timer) bool { return c.armed>>t&1 != 0 }

// A call is kept as this protobuf message; fields that a newer version added are kept and written back.
//
//	message Call {
//	  uint32 state = 1;  End calling = 2;  End called = 3;  uint32 service = 4;  uint32 priority = 5;
//	  int64 setup = 6;  int64 assigned = 7;  int64 alerting = 8;  int64 answered = 9;  int64 released = 10;  int64 ended = 11;
//	  uint32 cause = 12;  string released_by = 13;  bool alerted = 14;  bool connected = 15;  uint32 connect_sequence = 16;  bool confirmed = 17;
//	  uint32 armed = 18;
//	}
//	message End {
//	  uint64 station = 1;  uint32 beam = 2;  uint32 dialogue = 3;  uint32 hold = 4;  uint32 channel = 5;  bool locked = 6;  bool repeated = 7;
//	}

// Append encodes the call behind dst.
func (c *Call) Append(dst []byte) []byte {
	var scratch [96]byte
	dst = body.AppendVarint(dst, 1, uint64(c.State))
	dst = body.AppendMessage(dst, 2, c.Calling.append(scratch[:0]))
	dst = body.AppendMessage(dst, 3, c.Called.append(scratch[:0]))
	dst = body.AppendVarint(dst, 4, uint64(c.Service))
	dst = body.AppendVarint(dst, 5, uint64(c.Priority))
	for i, at := range []int64{c.Setup, c.Assigned, c.Alerting, c.Answered, c.Released, c.Ended} {
		dst = body.AppendVarint(dst, protowire.Number(6+i), uint64(at))
	}
	dst = body.AppendVarint(dst, 12, uint64(c.Cause))
	dst = body.AppendString(dst, 13, c.ReleasedBy)
	dst = body.AppendBool(dst, 14, c.Alerted)
	dst = body.AppendBool(dst, 15, c.Connected)
	dst = body.AppendVarint(dst, 16, uint64(c.ConnectSequence))
	dst = body.AppendBool(dst, 17, c.Confirmed)
	dst = body.AppendVarint(dst, 18, uint64(c.armed))
	return append(dst, c.unknown...)
}

func (e *End) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(e.Station))
	dst = body.AppendVarint(dst, 2, uint64(e.Beam))
	dst = body.AppendVarint(dst, 3, uint64(e.Dialogue))
	dst = body.AppendVarint(dst, 4, uint64(e.Hold))
	dst = body.AppendVarint(dst, 5, uint64(e.Channel))
	dst = body.AppendBool(dst, 6, e.Locked)
	dst = body.AppendBool(dst, 7, e.Repeated)
	return append(dst, e.unknown...)
}

// Decode reads the body of a call's record; an empty one is a call that was not set up. Errors wrap body.ErrMalformed.
func Decode(b []byte) (*Call, error) {
	c := &Call{}
	unknown, err := body.Fields(b, c.field)
	if err != nil {
		return nil, fmt.Errorf("call: %w", err)
	}
	c.unknown = unknown
	for _, e := range []*End{&c.Calling, &c.Called} {
		if c.State > maxState || e.Dialogue > maxDialogue || e.Hold > maxHold {
			return nil, fmt.Errorf("call: %w: %v, %v, %v", body.ErrMalformed, c.State, e.Dialogue, e.Hold)
		}
	}
	return c, nil
}

func (c *Call) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		err = into(&c.State, f.Uint8)
	case 2:
		c.Calling.unknown, err = f.Message(c.Calling.field)
	case 3:
		c.Called.unknown, err = f.Message(c.Called.field)
	case 4:
		c.Service, err = f.Uint8()
	case 5:
		err = into(&c.Priority, f.Uint8)
	case 6, 7, 8, 9, 10, 11:
		at := [...]*int64{&c.Setup, &c.Assigned, &c.Alerting, &c.Answered, &c.Released, &c.Ended}[f.Number-6]
		*at, err = f.Int64()
	case 12:
		err = into(&c.Cause, f.Uint8)
	case 13:
		var b []byte
		b, err = f.Bytes()
		c.ReleasedBy = Party(b)
	default:
		return c.flag(f)
	}
	return true, err
}

func (c *Call) flag(f body.Field) (known bool, err error) {
	switch f.Number {
	case 14:
		c.Alerted, err = f.Bool()
	case 15:
		c.Connected, err = f.Bool()
	case 16:
		c.ConnectSequence, err = f.Uint32()
	case 17:
		c.Confirmed, err = f.Bool()
	case 18:
		c.armed, err = f.Uint16()
	default:
		return false, nil
	}
	return true, err
}

func (e *End) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		err = into(&e.Station, f.Varint)
	case 2:
		err = into(&e.Beam, f.Uint16)
	case 3:
		err = into(&e.Dialogue, f.Uint8)
	case 4:
		err = into(&e.Hold, f.Uint8)
	case 5:
		e.Channel, err = f.Uint16()
	case 6:
		e.Locked, err = f.Bool()
	case 7:
		e.Repeated, err = f.Bool()
	default:
		return false, nil
	}
	return true, err
}

// into reads a number into a type of its own.
func into[T, V ~uint8 | ~uint16 | ~uint32 | ~uint64](to *T, read func() (V, error)) error {
	v, err := read()
	*to = T(v)
	return err
}
