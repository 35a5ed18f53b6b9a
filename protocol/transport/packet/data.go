package packet

import "encoding/binary"

// Flags of a DATA chunk (RFC 9260 section 3.3.1; I is RFC 7053).
const (
	FlagEnding      = 0x01
	FlagBeginning   = 0x02
	FlagUnordered   = 0x04
	FlagImmediate   = 0x08
	dataFieldsLen   = 12
	DataOverheadLen = ChunkHeaderLen + dataFieldsLen // bytes that a DATA chunk takes beside its user data
)

// Data is a DATA chunk: a user message or a fragment of one (RFC 9260 section 3.3.1).
type Data struct {
	TSN       uint32
	Stream    uint16
	SSN       uint16 // without meaning when Unordered
	PPID      uint32 // payload protocol identifier, as the sender's application set it
	Unordered bool
	Beginning bool
	Ending    bool
	Immediate bool   // the sender asks for a SACK at once
	Payload   []byte // may be empty, which RFC 9260 section 6.2 answers with ABORT; points into the packet
}

// ParseData reads a DATA chunk; c.Type is TypeData. The error is a *LengthError when the fields are cut short.
func ParseData(c Chunk) (Data, error) {
	v := c.Value
	if len(v) < dataFieldsLen {
		return Data{}, &LengthError{What: "DATA", Length: len(c.Raw), Left: len(c.Raw), Fault: ErrCutShort}
	}
	return Data{
		TSN:       binary.BigEndian.Uint32(v),
		Stream:    binary.BigEndian.Uint16(v[4:]),
		SSN:       binary.BigEndian.Uint16(v[6:]),
		PPID:      binary.BigEndian.Uint32(v[8:]),
		Unordered: c.Flags&FlagUnordered != 0,
		Beginning: c.Flags&FlagBeginning != 0,
		Ending:    c.Flags&FlagEnding != 0,
		Immediate: c.Flags&FlagImmediate != 0,
		Payload:   v[dataFieldsLen:],
	}, nil
}

// Append writes the chunk with its padding; the payload is at most 65,519 bytes long.
func (d Data) Append(dst []byte) []byte {
	dst = append(dst, byte(TypeData), d.flags())
	dst = binary.BigEndian.AppendUint16(dst, uint16(DataOverheadLen+len(d.Payload)))
	dst = binary.BigEndian.AppendUint32(dst, d.TSN)
	dst = binary.BigEndian.AppendUint16(dst, d.Stream)
	dst = binary.BigEndian.AppendUint16(dst, d.SSN)
	dst = binary.BigEndian.AppendUint32(dst, d.PPID)
	dst = append(dst, d.Payload...)
	return appendPadding(dst, len(d.Payload))
}

func (d Data) flags() (flags byte) {
	if d.Ending {
		flags |= FlagEnding
	}
	if d.Beginning {
		flags |= FlagBeginning
	}
	if d.Unordered {
		flags |= FlagUnordered
	}
	if d.Immediate {
		flags |= FlagImmediate
	}
	return flags
}
