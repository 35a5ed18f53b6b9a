package generate

import "encoding/binary"

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	protocolSCTP  = 132
	hops          = 64
	dscpCS5       = 40 << 2 // signalling's class (RFC 4594 section 3.2)
)

// encapsulate puts an SCTP packet into IP and Ethernet.
func encapsulate(src, dst *peer, data []byte) []byte {
	frame := make([]byte, 0, 14+40+len(data))
	frame = append(frame, dst.hardware[:]...)
	frame = append(frame, src.hardware[:]...)
	if src.addr.Is4() {
		frame = binary.BigEndian.AppendUint16(frame, etherTypeIPv4)
		frame = appendIPv4(frame, src, dst, len(data))
	} else {
		frame = binary.BigEndian.AppendUint16(frame, etherTypeIPv6)
		frame = appendIPv6(frame, src, dst, len(data))
	}
	frame = append(frame, data...)
	for len(frame) < 60 { // the least that Ethernet carries, its checksum apart
		frame = append(frame, 0)
	}
	return frame
}

// appendIPv4 writes a header without options (RFC 791 section 3.1).
func appendIPv4(dst []byte, from, to *peer, length int) []byte {
	start := len(dst)
	dst = append(dst, 0x45, dscpCS5)
	dst = binary.BigEndian.AppendUint16(dst, uint16(20+length))
	dst = binary.BigEndian.AppendUint16(dst, from.ip)
	from.ip++
	dst = append(dst, 0x40, 0, hops, protocolSCTP, 0, 0) // don't fragment
	dst = append(dst, from.addr.AsSlice()...)
	dst = append(dst, to.addr.AsSlice()...)
	header := dst[start:]
	binary.BigEndian.PutUint16(header[10:], onesComplement(header))
	return dst
}

// appendIPv6 writes a header without extensions (RFC 8200 section 3).
func appendIPv6(dst []byte, from, to *peer, length int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 6<<28|dscpCS5<<20)
	dst = binary.BigEndian.AppendUint16(dst, uint16(length))
	dst = append(dst, protocolSCTP, hops)
	dst = append(dst, from.addr.AsSlice()...)
	return append(dst, to.addr.AsSlice()...)
}

// onesComplement is the checksum of an IPv4 header whose own field is 0 (RFC 1071).
func onesComplement(header []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
