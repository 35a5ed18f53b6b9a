package bus

import (
	"encoding/binary"
	"fmt"
)

// EpochRequest asks a processor for a new epoch: a number that names one
// association for ever. A dispatcher asks before it reads an association, and now
// and then to learn the Redis time (an epoch that nobody uses costs nothing).
//
// Layout, big-endian; a later version may append fields, which are ignored:
//
//	version u8 | kind u8 (4) | floor u64
type EpochRequest struct {
	Floor uint64 // highest epoch this dispatcher has seen; 0: none
}

// EpochReply answers an EpochRequest.
//
// Layout, big-endian; a later version may append fields, which are ignored:
//
//	version u8 | kind u8 (5) | flags u8 (1: rolled back) | epoch u64 | redis time i64 | error length u16 | error
type EpochReply struct {
	Epoch      uint64 // max(last + 1, Redis TIME in us, floor + 1); 0 with an error
	RedisTime  int64  // microseconds since 1970, when the epoch was made; 0 with an error
	RolledBack bool   // the last epoch of Redis was below the floor: it lost writes
	Error      string // why there is no epoch; empty: there is one
}

const (
	epochRequest   = "epoch request"
	epochReply     = "epoch reply"
	flagRolledBack = 1
	maxErrorLen    = 1024
)

// Append appends the encoded request.
func (r *EpochRequest) Append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(appendPrefix(dst, kindEpochRequest), r.Floor)
}

// DecodeEpochRequest reads a request; the error is a *FrameError.
func DecodeEpochRequest(b []byte) (EpochRequest, error) {
	if err := checkPrefix(epochRequest, b, kindEpochRequest); err != nil {
		return EpochRequest{}, err
	}

	if len(b) < 10 {
		return EpochRequest{}, cut(epochRequest, b, 2, field{"floor", 8})
	}

	return EpochRequest{Floor: binary.BigEndian.Uint64(b[2:])}, nil
}

// Append appends the encoded reply; an error text is cut at 1,024 bytes.
func (r *EpochReply) Append(dst []byte) []byte {
	var flags byte
	if r.RolledBack {
		flags = flagRolledBack
	}

	text := r.Error[:min(len(r.Error), maxErrorLen)]

	dst = append(appendPrefix(dst, kindEpochReply), flags)
	dst = binary.BigEndian.AppendUint64(dst, r.Epoch)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.RedisTime)) //nolint:gosec // two's complement on the wire
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(text)))   //nolint:gosec // cut above

	return append(dst, text...)
}

// DecodeEpochReply reads a reply; the error is a *FrameError.
func DecodeEpochReply(b []byte) (EpochReply, error) {
	if err := checkPrefix(epochReply, b, kindEpochReply); err != nil {
		return EpochReply{}, err
	}

	if len(b) < 21 {
		return EpochReply{}, cut(epochReply, b, 2,
			field{"flags", 1}, field{"epoch", 8}, field{"redis time", 8}, field{"error length", 2})
	}

	if b[2]&^flagRolledBack != 0 {
		return EpochReply{}, &FrameError{What: epochReply, Field: "flags", Offset: 2, Fault: "unknown bits are set"}
	}

	size := int(binary.BigEndian.Uint16(b[19:]))
	if size > maxErrorLen || size > len(b)-21 {
		return EpochReply{}, &FrameError{What: epochReply, Field: "error length", Offset: 19, Fault: fmt.Sprintf("%d is past the end or over %d", size, maxErrorLen)}
	}

	return EpochReply{
		RolledBack: b[2]&flagRolledBack != 0,
		Epoch:      binary.BigEndian.Uint64(b[3:]),
		RedisTime:  int64(binary.BigEndian.Uint64(b[11:])), //nolint:gosec // two's complement on the wire
		Error:      string(b[21 : 21+size]),
	}, nil
}
