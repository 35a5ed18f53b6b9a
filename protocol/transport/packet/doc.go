// Package packet reads and writes SCTP packets on the wire (RFC 9260 section 3). It keeps no state, starts nothing and
// copies nothing: what it returns points into the caller's buffer.
//
//	 0                   1                   2                   3
//	+-------------------+-------------------+
//	| source port       | destination port  |   Header, 12 bytes
//	| verification tag                      |
//	| checksum (CRC32c)                     |
//	+---------+---------+-------------------+
//	| type    | flags   | length            |   Chunk, padded to 4 bytes
//	| value ...                             |
//	+---------+---------+-------------------+
//	| next chunk ...                        |
//
// Lengths are judged strictly: a chunk that claims fewer than 4 bytes or more than there are ends the packet with a
// *LengthError. Only the padding of the last chunk may be missing, as senders in the field leave it out.
package packet
