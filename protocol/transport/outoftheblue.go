package transport

import (
	"encoding/binary"
	"net/netip"

	"skyring/protocol/transport/packet"
)

const (
	flagT = 1 // ABORT, SHUTDOWN-COMPLETE: the tag is the reflected one (RFC 9260 section 8.5.1)
)

// outOfTheBlue decides on a packet that belongs to no association (RFC 9260 section 8.4): the answer, or nil for
// silence. INIT and COOKIE-ECHO have been dealt with before.
func outOfTheBlue(b []byte, h packet.Header, from netip.AddrPort) []byte {
	if !from.Addr().IsValid() || from.Addr().IsMulticast() || from.Addr().IsUnspecified() {
		return nil
	}
	answer := packet.TypeAbort
	for c, err := range packet.Chunks(b) {
		if err != nil {
			return nil
		}
		switch c.Type { //nolint:exhaustive // the rules name these; all others are answered with ABORT
		case packet.TypeAbort, packet.TypeShutdownComplete, packet.TypeCookieAck, packet.TypeInit, packet.TypeInitAck,
			packet.TypeCookieEcho:
			return nil
		case packet.TypeError:
			if hasCause(c.Value, causeStaleCookie) {
				return nil
			}
		case packet.TypeShutdownAck:
			answer = packet.TypeShutdownComplete
		}
	}
	return packet.AppendChunk(reply(h, h.VerificationTag, packet.ChunkHeaderLen), answer, flagT, nil)
}

func hasCause(value []byte, want cause) bool {
	for p, err := range packet.Parameters(value) {
		if err != nil {
			return false
		}
		if cause(p.Type) == want {
			return true
		}
	}
	return false
}

// reply starts a packet back to the sender of h, with room for more.
func reply(h packet.Header, tag uint32, room int) []byte {
	back := packet.Header{SourcePort: h.DestinationPort, DestinationPort: h.SourcePort, VerificationTag: tag}
	return back.Append(make([]byte, 0, packet.HeaderLen+room))
}

// appendAbort adds an ABORT chunk with one cause.
func appendAbort(dst []byte, c cause, value []byte) []byte {
	return packet.AppendChunk(dst, packet.TypeAbort, 0, packet.AppendParameter(nil, uint16(c), value))
}

// appendError adds an ERROR chunk with one cause.
func appendError(dst []byte, c cause, value []byte) []byte {
	return packet.AppendChunk(dst, packet.TypeError, 0, packet.AppendParameter(nil, uint16(c), value))
}

func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
