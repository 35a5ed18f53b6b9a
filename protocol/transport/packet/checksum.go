package packet

import (
	"encoding/binary"
	"hash/crc32"
)

const checksumOffset = 8

// ChecksumOK reports whether the CRC32c of b (RFC 9260 section 6.8 and appendix A) is right. It leaves b untouched, so
// that several readers may share it. A packet shorter than the header is never right.
func ChecksumOK(b []byte) bool {
	return len(b) >= HeaderLen && binary.LittleEndian.Uint32(b[checksumOffset:]) == Checksum(b)
}

// Checksum is the CRC32c of b with its checksum field taken as 0; 0 for a packet shorter than the header.
func Checksum(b []byte) uint32 {
	if len(b) < HeaderLen {
		return 0
	}
	table := crc32.MakeTable(crc32.Castagnoli) // the library's own table: nothing is built
	crc := ^crc32.Update(0, table, b[:checksumOffset])
	for range 4 { // the field, as zeros; done by hand since a slice of zeros would escape
		crc = table[byte(crc)] ^ crc>>8
	}
	return crc32.Update(^crc, table, b[HeaderLen:])
}

// PutChecksum writes the CRC32c of b into its header; b holds at least HeaderLen bytes.
func PutChecksum(b []byte) {
	binary.LittleEndian.PutUint32(b[checksumOffset:], Checksum(b))
}
