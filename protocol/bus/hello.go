package bus

import "encoding/binary"

// Hello is what a dispatcher publishes when it starts and when NATS is back:
// every processor answers with a heartbeat after 0 to 100 ms at random.
//
// Layout, big-endian; a later version may append fields, which are ignored:
//
//	version u8 | kind u8 (6) | id length u8 | id | incarnation u64
type Hello struct {
	ID          string // dispatcher id, see ValidateID
	Incarnation uint64 // random at each start of the process
}

const hello = "hello"

// Append appends the encoded hello.
func (h *Hello) Append(dst []byte) []byte {
	dst = appendID(appendPrefix(dst, kindHello), h.ID)

	return binary.BigEndian.AppendUint64(dst, h.Incarnation)
}

// DecodeHello reads a hello; the error is a *FrameError.
func DecodeHello(b []byte) (Hello, error) {
	if err := checkPrefix(hello, b, kindHello); err != nil {
		return Hello{}, err
	}

	id, at, err := readID(hello, b, 2)
	if err != nil {
		return Hello{}, err
	}

	if len(b)-at < 8 {
		return Hello{}, cut(hello, b, at, field{"incarnation", 8})
	}

	return Hello{ID: id, Incarnation: binary.BigEndian.Uint64(b[at:])}, nil
}
