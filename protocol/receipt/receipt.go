// Package receipt is the small message with which a listener tells the sender of a
// message that its effect is committed, where the message has no reply of its own.
//
// Receipts are off by default: they are no part of any standard, and a station that
// does not know their PPID may treat it as an error. A receipt travels on the
// association of the message it is for, ordered and on stream 0, whatever the
// message's own stream; it names that message by stream and ordinal and proves it by
// the hash of the payload. Receipts of one session come in the order of its messages.
// SCTP's own SACK says only that a message arrived, never that anything came of it.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-------------+-+-------------------------------+
//	|  version = 1  |      0      |U|            stream             |
//	+---------------+-------------+-+-------------------------------+
//	|    status     |                       0                       |
//	+---------------+-----------------------------------------------+
//	|                            ordinal                            |
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                   xxh3-64 of the payload                      |
//	|                                                               |
//	+---------------------------------------------------------------+
//
// All numbers are big-endian.
package receipt

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// PPID is the SCTP payload protocol identifier of receipts: "SKYR" in ASCII. It is
// private use, not registered with IANA (RFC 9260 section 15.5).
const PPID uint32 = 0x534B5952

// Size is the length of each receipt in bytes.
const Size = 24

const (
	version       = 1
	flagUnordered = 1
)

// ErrMalformed is what each error of Decode wraps.
var ErrMalformed = errors.New("malformed receipt")

// Receipt says what became of one message.
type Receipt struct {
	Stream    uint16 // SCTP stream on which the message arrived
	Unordered bool   // the U bit of the message
	Status    Status // what became of it
	Ordinal   uint64 // 1, 2, 3, ... counted per stream and U bit since the association began
	Hash      uint64 // Hash of the message's payload
}

// Hash returns the xxh3-64 hash (seed 0) of a payload, as receipts carry it.
func Hash(payload []byte) uint64 { return xxh3.Hash(payload) }

// Append appends the Size bytes of r to dst and returns the longer slice. It writes
// what it is given: a status or an ordinal that Decode refuses is the caller's error.
func (r Receipt) Append(dst []byte) []byte {
	var flags byte
	if r.Unordered {
		flags = flagUnordered
	}

	dst = append(dst, version, flags)
	dst = binary.BigEndian.AppendUint16(dst, r.Stream)
	dst = append(dst, byte(r.Status), 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, r.Ordinal)

	return binary.BigEndian.AppendUint64(dst, r.Hash)
}

// Decode reads a receipt. It is strict: another length, version or status, an ordinal
// of 0, and a set bit that means nothing are errors, which wrap ErrMalformed and name the field.
func Decode(b []byte) (Receipt, error) {
	if len(b) != Size {
		return Receipt{}, fmt.Errorf("%w: length %d, want %d", ErrMalformed, len(b), Size)
	}

	if b[0] != version {
		return Receipt{}, fmt.Errorf("%w: version %d, want %d", ErrMalformed, b[0], version)
	}

	if b[1]&^flagUnordered != 0 {
		return Receipt{}, fmt.Errorf("%w: unknown flags %#02x", ErrMalformed, b[1]&^flagUnordered)
	}

	if b[5]|b[6]|b[7] != 0 {
		return Receipt{}, fmt.Errorf("%w: reserved bytes % x, want zeros", ErrMalformed, b[5:8])
	}

	r := Receipt{
		Stream:    binary.BigEndian.Uint16(b[2:]),
		Unordered: b[1] == flagUnordered,
		Status:    Status(b[4]),
		Ordinal:   binary.BigEndian.Uint64(b[8:]),
		Hash:      binary.BigEndian.Uint64(b[16:]),
	}

	if r.Status < Committed || r.Status > Quarantined {
		return Receipt{}, fmt.Errorf("%w: unknown status %d", ErrMalformed, b[4])
	}

	if r.Ordinal == 0 {
		return Receipt{}, fmt.Errorf("%w: ordinal 0, the first is 1", ErrMalformed)
	}

	return r, nil
}
