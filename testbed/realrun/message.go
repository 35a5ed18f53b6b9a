package realrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"skyring/protocol"
)

// ppid is the payload protocol identifier of the messages: "RUN1" in ASCII. It is private use, not registered with IANA (RFC 9260 section 15.5), and the
// dispatcher is told that it is ESSP's.
const ppid uint32 = 0x52554E31

const (
	orderSize  = protocol.HeaderSize + 8
	answerSize = 4 + 8 + 2
)

var errMessage = errors.New("not a message of this run")

// order is a message to a node.
//
//	ESSP header with station and sequence, of a HEARTBEAT | work u64, ns
type order struct {
	station  uint64
	sequence uint32 // 1, 2, ... over all messages of a round
	work     time.Duration
}

func (o order) append(dst []byte) ([]byte, error) {
	h := protocol.Header{Station: protocol.StationID(o.station), Sequence: o.sequence}

	dst, err := protocol.Append(dst, h, protocol.Heartbeat{})
	if err != nil {
		return dst, fmt.Errorf("message %d of station %d: %w", o.sequence, o.station, err)
	}

	return binary.BigEndian.AppendUint64(dst, uint64(o.work)), nil //nolint:gosec // not negative
}

func decodeOrder(b []byte) (order, error) {
	if len(b) != orderSize {
		return order{}, fmt.Errorf("%w: %d bytes, want %d", errMessage, len(b), orderSize)
	}

	h, _, err := protocol.Decode(b[:protocol.HeaderSize])
	if err != nil {
		return order{}, fmt.Errorf("%w: %w", errMessage, err)
	}

	return order{
		station:  uint64(h.Station),
		sequence: h.Sequence,
		work:     time.Duration(binary.BigEndian.Uint64(b[protocol.HeaderSize:])), //nolint:gosec // as append wrote it
	}, nil
}

// answer is a node's.
//
//	sequence u32 | ordinal u64 | node u16
type answer struct {
	sequence uint32 // of the message
	ordinal  uint64 // of the message in its session: 1, 2, ...
	node     int    // index
}

func (a answer) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, a.sequence)
	dst = binary.BigEndian.AppendUint64(dst, a.ordinal)

	return binary.BigEndian.AppendUint16(dst, uint16(a.node)) //nolint:gosec // ring.MaxNodes at most
}

func decodeAnswer(b []byte) (answer, error) {
	if len(b) != answerSize {
		return answer{}, fmt.Errorf("%w: answer of %d bytes, want %d", errMessage, len(b), answerSize)
	}

	return answer{
		sequence: binary.BigEndian.Uint32(b),
		ordinal:  binary.BigEndian.Uint64(b[4:]),
		node:     int(binary.BigEndian.Uint16(b[12:])),
	}, nil
}
