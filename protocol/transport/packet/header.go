package packet

import (
	"encoding/binary"
	"errors"
)

// HeaderLen is the size of the common header in bytes.
const HeaderLen = 12

// ErrShortHeader says that a packet ends within the common header.
var ErrShortHeader = errors.New("sctp packet: common header cut short")

// Header is the common header of each packet (RFC 9260 section 3.1).
type Header struct {
	SourcePort      uint16
	DestinationPort uint16
	VerificationTag uint32 // 0 in a packet that carries INIT
	Checksum        uint32 // as read; PutChecksum writes it
}

// ParseHeader reads the common header. The error is ErrShortHeader when b holds fewer than HeaderLen bytes; ports of 0,
// which RFC 9260 forbids, are for the caller to refuse.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderLen {
		return Header{}, ErrShortHeader
	}
	return Header{
		SourcePort:      binary.BigEndian.Uint16(b),
		DestinationPort: binary.BigEndian.Uint16(b[2:]),
		VerificationTag: binary.BigEndian.Uint32(b[4:]),
		Checksum:        binary.LittleEndian.Uint32(b[8:]),
	}, nil
}

// Append writes the header with a checksum of 0; PutChecksum fills it in once the packet is whole.
func (h Header) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, h.SourcePort)
	dst = binary.BigEndian.AppendUint16(dst, h.DestinationPort)
	dst = binary.BigEndian.AppendUint32(dst, h.VerificationTag)
	return append(dst, 0, 0, 0, 0)
}
