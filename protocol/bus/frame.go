package bus

import (
	"encoding/binary"
	"fmt"
)

// Version is the first byte of everything that this package writes. A reader
// refuses any other.
const Version = 1

// MaxCount is the largest number of envelopes or answers of one frame.
const MaxCount = 1<<16 - 1

// kind is the second byte of everything that this package writes.
type kind uint8

const (
	kindEnvelopes kind = 1 + iota
	kindAnswers
	kindHeartbeat
	kindEpochRequest
	kindEpochReply
	kindHello
	kindDeliver
	kindDelivered

	kindNodeRequest kind = 32
	kindWhy         kind = 33
)

// FrameError tells why bytes from the bus were refused. Nothing of a refused
// frame is used.
type FrameError struct {
	What   string // what was read: "envelope frame", "heartbeat", ...
	Field  string // the field that is wrong
	Offset int    // where that field begins, in bytes from the start
	Fault  string // what is wrong with it
}

// Error names what was read, the field, its offset and the fault.
func (e *FrameError) Error() string {
	return fmt.Sprintf("bus: %s: %s at byte %d: %s", e.What, e.Field, e.Offset, e.Fault)
}

// field is one fixed field of a layout; size in bytes.
type field struct {
	name string
	size int
}

// cut returns the error for bytes that end inside fixed fields which begin at
// offset: it names the first field that is not whole.
func cut(what string, b []byte, offset int, fields ...field) *FrameError {
	for _, f := range fields {
		if offset+f.size > len(b) {
			return &FrameError{What: what, Field: f.name, Offset: offset, Fault: "past the end"}
		}

		offset += f.size
	}

	return &FrameError{What: what, Field: "frame", Offset: offset, Fault: "past the end"}
}

// appendPrefix appends the version and kind bytes.
func appendPrefix(dst []byte, k kind) []byte { return append(dst, Version, byte(k)) }

// checkPrefix reads the version and kind bytes.
func checkPrefix(what string, b []byte, k kind) error {
	if len(b) < 2 {
		return cut(what, b, 0, field{"version", 1}, field{"kind", 1})
	}

	if b[0] != Version {
		return &FrameError{What: what, Field: "version", Offset: 0, Fault: fmt.Sprintf("%d, this program reads %d", b[0], Version)}
	}

	if b[1] != byte(k) {
		return &FrameError{What: what, Field: "kind", Offset: 1, Fault: fmt.Sprintf("%d, wanted %d", b[1], k)}
	}

	return nil
}

// appendID appends an id with its length in one byte. Ids are validated where
// they are configured (ValidateID), so a longer one is a programming error.
func appendID(dst []byte, id string) []byte {
	if len(id) > MaxIDLen {
		panic("bus: id of more than 64 bytes")
	}

	return append(append(dst, byte(len(id))), id...)
}

// readID reads an id with its length and returns the offset after it.
func readID(what string, b []byte, offset int) (string, int, error) {
	if offset >= len(b) {
		return "", 0, cut(what, b, offset, field{"id length", 1})
	}

	end := offset + 1 + int(b[offset])
	if end > len(b) {
		return "", 0, &FrameError{What: what, Field: "id length", Offset: offset, Fault: "past the end"}
	}

	id := string(b[offset+1 : end])
	if err := ValidateID(id); err != nil {
		return "", 0, &FrameError{What: what, Field: "id", Offset: offset + 1, Fault: err.Error()}
	}

	return id, end, nil
}

// setCount writes a frame's count, which its writer knows only at the end.
func setCount(b []byte, at, count int) { binary.BigEndian.PutUint16(b[at:], uint16(count)) } //nolint:gosec // count <= MaxCount
