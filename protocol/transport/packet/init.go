package packet

import "encoding/binary"

const initFieldsLen = 16

// Init is an INIT or INIT-ACK chunk without judgement on its values (RFC 9260 sections 3.3.2 and 3.3.3).
type Init struct {
	InitiateTag     uint32 // the tag that packets to its sender carry; 0 is forbidden
	Window          uint32 // advertised receiver window in bytes
	OutboundStreams uint16
	InboundStreams  uint16 // at most that many streams towards its sender
	InitialTSN      uint32
	Parameters      []byte // for Parameters; points into the packet
}

// ParseInit reads an INIT or INIT-ACK chunk. The error is a *LengthError when the fixed part is cut short.
func ParseInit(c Chunk) (Init, error) {
	v := c.Value
	if len(v) < initFieldsLen {
		return Init{}, &LengthError{What: c.Type.String(), Length: len(c.Raw), Left: len(c.Raw), Fault: ErrCutShort}
	}
	return Init{
		InitiateTag:     binary.BigEndian.Uint32(v),
		Window:          binary.BigEndian.Uint32(v[4:]),
		OutboundStreams: binary.BigEndian.Uint16(v[8:]),
		InboundStreams:  binary.BigEndian.Uint16(v[10:]),
		InitialTSN:      binary.BigEndian.Uint32(v[12:]),
		Parameters:      v[initFieldsLen:],
	}, nil
}

// Append writes the chunk, TypeInit or TypeInitAck, with its padding. Parameters are padded already, but for the last.
func (i Init) Append(dst []byte, t ChunkType) []byte {
	dst = append(dst, byte(t), 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(ChunkHeaderLen+initFieldsLen+len(i.Parameters)))
	dst = binary.BigEndian.AppendUint32(dst, i.InitiateTag)
	dst = binary.BigEndian.AppendUint32(dst, i.Window)
	dst = binary.BigEndian.AppendUint16(dst, i.OutboundStreams)
	dst = binary.BigEndian.AppendUint16(dst, i.InboundStreams)
	dst = binary.BigEndian.AppendUint32(dst, i.InitialTSN)
	dst = append(dst, i.Parameters...)
	return appendPadding(dst, len(i.Parameters))
}
