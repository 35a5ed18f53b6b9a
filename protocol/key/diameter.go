package key

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Diameter as far as keys need it (RFC 6733 sections 3, 4.1 and 8.8).
const (
	diameterHeader   = 20
	avpHeader        = 8
	avpVendorHeader  = 12
	avpVendorBit     = 0x80
	avpSessionID     = 263
	diameterVersion1 = 1
)

// How the rest of a Diameter key is to be read, its second byte.
const (
	sessionPlain  = 0 // the Session-Id as it is
	sessionHashed = 1 // the 128-bit xxh3 of the Session-Id, big-endian
)

// appendDiameter appends the key of a Diameter message (PPID 46): its Session-Id, the
// same on all associations and in both directions. Messages of the peers themselves
// (CER, DWR, DPR and their answers) have none and belong to the association.
//
//	+---------------+-----------------------------------------------+
//	|  version = 1  |        message length, with padding           |
//	+---------------+-----------------------------------------------+
//	|     flags     |               command code                    |   application, hop-by-hop and
//	+---------------+-----------------------------------------------+   end-to-end id follow, then AVPs:
//	|                           AVP code                            |
//	+---------------+-----------------------------------------------+
//	|V  flags       |  AVP length, with header, without padding     |   vendor id follows if V is set
//	+---------------+-----------------------------------------------+
func appendDiameter(dst []byte, association uint64, payload []byte) ([]byte, Fault) {
	if len(payload) < diameterHeader {
		return nil, errDiameterHeader
	}

	if payload[0] != diameterVersion1 {
		return nil, errDiameterVersion
	}

	length := length24(payload)

	switch {
	case length < diameterHeader || length > len(payload):
		return nil, errDiameterLength
	case length < len(payload):
		return nil, errDiameterRest
	}

	session, fault := sessionID(payload[diameterHeader:])
	if fault != errNone {
		return nil, fault
	}

	if session == nil {
		return Association(dst, association), errNone
	}

	return appendSession(dst, session), errNone
}

// length24 returns the 24-bit length behind a first octet.
func length24(b []byte) int { return int(binary.BigEndian.Uint32(b) & 0xFFFFFF) }

// sessionID looks for the Session-Id among AVPs, nil if there is none.
func sessionID(avps []byte) ([]byte, Fault) {
	for len(avps) > 0 {
		if len(avps) < avpHeader {
			return nil, errDiameterAVP
		}

		length := length24(avps[4:])
		if length > len(avps) {
			return nil, errDiameterAVPLength
		}

		header, vendor := avpHeader, uint32(0)
		if avps[4]&avpVendorBit != 0 {
			header = avpVendorHeader
		}

		if length < header {
			return nil, errDiameterVendor
		}

		if header == avpVendorHeader {
			vendor = binary.BigEndian.Uint32(avps[8:])
		}

		if vendor == 0 && binary.BigEndian.Uint32(avps) == avpSessionID {
			if length == header {
				return nil, errDiameterSession
			}

			return avps[header:length], errNone
		}

		avps = avps[min((length+3)&^3, len(avps)):]
	}

	return nil, errNone
}

// appendSession appends the key of a Session-Id, hashed when it is too long for a key.
func appendSession(dst, session []byte) []byte {
	if len(session) <= MaxLen-2 {
		return append(append(dst, byte(KindDiameter), sessionPlain), session...)
	}

	sum := xxh3.Hash128(session).Bytes()

	return append(append(dst, byte(KindDiameter), sessionHashed), sum[:]...)
}
