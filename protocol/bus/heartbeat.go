package bus

import (
	"encoding/binary"
	"fmt"
	"math"
)

// NodeState is what a processor says about itself.
type NodeState uint8

const (
	// Starting nodes are not ready yet and take no new keys.
	Starting NodeState = 1 + iota
	// Ready nodes take new keys.
	Ready
	// Draining nodes take no new keys, finish and answer what they have.
	Draining
	// Leaving nodes answered all they had and are about to go.
	Leaving
)

// String is the state in lower case, "state(9)" for an unknown one.
func (s NodeState) String() string {
	switch s {
	case Starting:
		return "starting"
	case Ready:
		return "ready"
	case Draining:
		return "draining"
	case Leaving:
		return "leaving"
	default:
		return fmt.Sprintf("state(%d)", uint8(s))
	}
}

// Heartbeat is what a processor tells about itself about once a second, and after
// 0 to 100 ms at random when a dispatcher says Hello.
//
// Layout, big-endian; a later version may append fields, which are ignored:
//
//	version u8 | kind u8 (3) | state u8 | id length u8 | id | incarnation u64 | sequence u64 |
//	capacity u32 | in flight u32 | messages per second u32 | response u32 | clock offset i64 |
//	cpu u16 | memory u16 | bytes per second u32 | in-flight limit u32
//
// cpu and memory are parts of 10,000. The last line was appended later: where a heartbeat
// ends before it, its fields are 0.
type Heartbeat struct {
	ID                string // node id, see ValidateID
	Incarnation       uint64 // random at each start of the process
	Sequence          uint64 // 1, 2, 3, ... in the incarnation
	State             NodeState
	Capacity          uint32 // messages per second sustained at the response target, at least 1
	InFlight          uint32 // messages it has and has not answered
	MessagesPerSecond uint32 // answered in the last second
	ResponseMicros    uint32 // moving average from receipt to answer, microseconds
	ClockOffset       int64  // Redis time minus the node's, microseconds

	// Not in heartbeats of older processors, where all of them are 0.

	CPU            float64 // used part of the processor time that the node may use: 0..1, in steps of 1/10,000, at most 6.5535
	Memory         float64 // used part of the memory that the node may use, as CPU
	BytesPerSecond uint32  // payload received in the last second
	InFlightLimit  uint32  // most messages in flight that the node wants of each dispatcher, 0: as the dispatcher is configured
}

const (
	heartbeat         = "heartbeat"
	heartbeatFixed    = 40     // bytes after the id
	heartbeatAppended = 12     // bytes after those, absent in older versions
	wholePart         = 10_000 // what 1 is on the wire, of parts
)

// Append appends the encoded heartbeat.
func (h *Heartbeat) Append(dst []byte) []byte {
	dst = appendPrefix(dst, kindHeartbeat)
	dst = append(dst, byte(h.State))
	dst = appendID(dst, h.ID)
	dst = binary.BigEndian.AppendUint64(dst, h.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, h.Sequence)
	dst = binary.BigEndian.AppendUint32(dst, h.Capacity)
	dst = binary.BigEndian.AppendUint32(dst, h.InFlight)
	dst = binary.BigEndian.AppendUint32(dst, h.MessagesPerSecond)
	dst = binary.BigEndian.AppendUint32(dst, h.ResponseMicros)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.ClockOffset)) //nolint:gosec // two's complement on the wire
	dst = binary.BigEndian.AppendUint16(dst, wirePart(h.CPU))
	dst = binary.BigEndian.AppendUint16(dst, wirePart(h.Memory))
	dst = binary.BigEndian.AppendUint32(dst, h.BytesPerSecond)

	return binary.BigEndian.AppendUint32(dst, h.InFlightLimit)
}

// wirePart is a part of 1 as the wire has it; what is no number or below 0 is 0.
func wirePart(p float64) uint16 {
	if !(p > 0) {
		return 0
	}

	return uint16(math.Round(min(p*wholePart, math.MaxUint16)))
}

// DecodeHeartbeat reads a heartbeat; the error is a *FrameError. Bytes after the
// known fields are ignored.
func DecodeHeartbeat(b []byte) (Heartbeat, error) {
	if err := checkPrefix(heartbeat, b, kindHeartbeat); err != nil {
		return Heartbeat{}, err
	}

	if len(b) < 3 {
		return Heartbeat{}, cut(heartbeat, b, 2, field{"state", 1})
	}

	state := NodeState(b[2])
	if state < Starting || state > Leaving {
		return Heartbeat{}, &FrameError{What: heartbeat, Field: "state", Offset: 2, Fault: state.String() + " is unknown"}
	}

	id, at, err := readID(heartbeat, b, 3)
	if err != nil {
		return Heartbeat{}, err
	}

	if len(b)-at < heartbeatFixed {
		return Heartbeat{}, cut(heartbeat, b, at,
			field{"incarnation", 8}, field{"sequence", 8}, field{"capacity", 4}, field{"in flight", 4},
			field{"messages per second", 4}, field{"response", 4}, field{"clock offset", 8})
	}

	f := b[at:]
	if len(f) > heartbeatFixed && len(f) < heartbeatFixed+heartbeatAppended {
		return Heartbeat{}, cut(heartbeat, b, at+heartbeatFixed,
			field{"cpu", 2}, field{"memory", 2}, field{"bytes per second", 4}, field{"in-flight limit", 4})
	}

	h := Heartbeat{
		ID:                id,
		State:             state,
		Incarnation:       binary.BigEndian.Uint64(f),
		Sequence:          binary.BigEndian.Uint64(f[8:]),
		Capacity:          binary.BigEndian.Uint32(f[16:]),
		InFlight:          binary.BigEndian.Uint32(f[20:]),
		MessagesPerSecond: binary.BigEndian.Uint32(f[24:]),
		ResponseMicros:    binary.BigEndian.Uint32(f[28:]),
		ClockOffset:       int64(binary.BigEndian.Uint64(f[32:])), //nolint:gosec // two's complement on the wire
	}

	h.readAppended(f[heartbeatFixed:])

	if h.Capacity == 0 {
		return Heartbeat{}, &FrameError{What: heartbeat, Field: "capacity", Offset: at + 16, Fault: "0, at least 1 is right"}
	}

	return h, nil
}

// readAppended reads the fields that older versions do not send: f is empty or has them all.
func (h *Heartbeat) readAppended(f []byte) {
	if len(f) == 0 {
		return
	}

	h.CPU = float64(binary.BigEndian.Uint16(f)) / wholePart
	h.Memory = float64(binary.BigEndian.Uint16(f[2:])) / wholePart
	h.BytesPerSecond = binary.BigEndian.Uint32(f[4:])
	h.InFlightLimit = binary.BigEndian.Uint32(f[8:])
}
