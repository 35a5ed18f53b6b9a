package packet

import "strconv"

// ChunkType is the first byte of a chunk (RFC 9260 section 3.2 and IANA's registry of chunk types).
type ChunkType uint8

// The chunk types that IANA lists for the protocol and its extensions.
const (
	TypeData             ChunkType = 0
	TypeInit             ChunkType = 1
	TypeInitAck          ChunkType = 2
	TypeSack             ChunkType = 3
	TypeHeartbeat        ChunkType = 4
	TypeHeartbeatAck     ChunkType = 5
	TypeAbort            ChunkType = 6
	TypeShutdown         ChunkType = 7
	TypeShutdownAck      ChunkType = 8
	TypeError            ChunkType = 9
	TypeCookieEcho       ChunkType = 10
	TypeCookieAck        ChunkType = 11
	TypeECNE             ChunkType = 12
	TypeCWR              ChunkType = 13
	TypeShutdownComplete ChunkType = 14
	TypeAuth             ChunkType = 15 // RFC 4895
	TypeIData            ChunkType = 64 // RFC 8260
	TypeAsconfAck        ChunkType = 128
	TypeReconfig         ChunkType = 130 // RFC 6525
	TypePad              ChunkType = 132 // RFC 4820
	TypeForwardTSN       ChunkType = 192 // RFC 3758
	TypeAsconf           ChunkType = 193 // RFC 5061
	TypeIForwardTSN      ChunkType = 194 // RFC 8260
)

// Unrecognised types carry in their two highest bits what a receiver does with them (RFC 9260 section 3.2).
const (
	skipBit   ChunkType = 0x80 // skip the chunk and go on; else drop the rest of the packet
	reportBit ChunkType = 0x40 // report it in an ERROR chunk
)

// Skippable reports whether a receiver that does not know the type goes on with the next chunk.
func (t ChunkType) Skippable() bool { return t&skipBit != 0 }

// Reportable reports whether a receiver that does not know the type tells the sender.
func (t ChunkType) Reportable() bool { return t&reportBit != 0 }

// String is the name in the RFC, or the number where IANA lists none.
func (t ChunkType) String() string {
	if name := t.name(); name != "" {
		return name
	}
	return "chunk type " + strconv.Itoa(int(t))
}

func (t ChunkType) name() string {
	if t <= TypeAuth {
		return [...]string{
			"DATA", "INIT", "INIT-ACK", "SACK", "HEARTBEAT", "HEARTBEAT-ACK", "ABORT", "SHUTDOWN", "SHUTDOWN-ACK",
			"ERROR", "COOKIE-ECHO", "COOKIE-ACK", "ECNE", "CWR", "SHUTDOWN-COMPLETE", "AUTH",
		}[t]
	}
	switch t { //nolint:exhaustive // the types up to AUTH are in the table above
	case TypeIData:
		return "I-DATA"
	case TypeAsconfAck:
		return "ASCONF-ACK"
	case TypeReconfig:
		return "RE-CONFIG"
	case TypePad:
		return "PAD"
	case TypeForwardTSN:
		return "FORWARD-TSN"
	case TypeAsconf:
		return "ASCONF"
	case TypeIForwardTSN:
		return "I-FORWARD-TSN"
	}
	return ""
}
