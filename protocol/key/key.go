package key

import (
	"encoding/binary"
	"strconv"

	"github.com/zeebo/xxh3"
)

// MaxLen is the length of the longest key in bytes. Ids that would make a longer one
// are replaced by their 128-bit xxh3.
const MaxLen = 160

// SCTP payload protocol identifiers (IANA registry) whose messages tell their session.
const (
	ppidM3UA     uint32 = 3
	ppidH248     uint32 = 7
	ppidS1AP     uint32 = 18
	ppidDiameter uint32 = 46
	ppidNGAP     uint32 = 60
	ppidESSP     uint32 = 0x45535350 // skyring/protocol.PPID, private use
)

// Kind is the first byte of a key: what kind of session it names. Numbers are kept in
// the state store and never change their meaning.
type Kind uint8

const (
	// KindAssociation is all that an association sends and that names no session.
	KindAssociation Kind = 1
	// KindS1AP is one UE on an S1 association.
	KindS1AP Kind = 2
	// KindNGAP is one UE on an NG association.
	KindNGAP Kind = 3
	// KindISUP is one circuit between two signalling points.
	KindISUP Kind = 4
	// KindSCCP is one signalling link selection between two signalling points.
	KindSCCP Kind = 5
	// KindM3UA is as KindSCCP, for any other MTP3 user (service indicator).
	KindM3UA Kind = 6
	// KindDiameter is one Session-Id.
	KindDiameter Kind = 7
	// KindH248 is one context of a media gateway on its association.
	KindH248 Kind = 8
	// KindStation is one earth station: all that ESSP says of it.
	KindStation Kind = 9
	// KindCall is one call between earth stations. No message has such a key.
	KindCall Kind = 10
	// KindPool is the channels of one beam. No message has such a key.
	KindPool Kind = 11
)

// String returns the kind as it begins a formatted key: "association", "s1ap", ...
func (k Kind) String() string {
	switch k {
	case KindAssociation:
		return "association"
	case KindS1AP:
		return "s1ap"
	case KindNGAP:
		return "ngap"
	case KindISUP:
		return "isup"
	case KindSCCP:
		return "sccp"
	case KindM3UA:
		return "m3ua"
	case KindDiameter:
		return "diameter"
	case KindH248:
		return "h248"
	case KindStation:
		return "station"
	case KindCall:
		return "call"
	case KindPool:
		return "pool"
	default:
		return "kind " + strconv.Itoa(int(k))
	}
}

// Append appends to dst the key of a message that arrived on an association and returns
// the longer slice. It always appends a usable key. The error is a Fault: the payload
// is not what its PPID promises, and the key is that of the association. It does not
// allocate when dst has room for MaxLen more bytes, and keeps nothing of payload.
func Append(dst []byte, association uint64, ppid uint32, payload []byte) ([]byte, error) {
	var (
		out   []byte
		fault Fault
	)

	switch ppid {
	case ppidS1AP:
		out, fault = appendS1AP(dst, association, payload)
	case ppidNGAP:
		out, fault = appendNGAP(dst, association, payload)
	case ppidM3UA:
		out, fault = appendM3UA(dst, association, payload)
	case ppidDiameter:
		out, fault = appendDiameter(dst, association, payload)
	case ppidH248:
		out, fault = appendH248(dst, association, payload)
	case ppidESSP:
		out, fault = appendESSP(dst, payload)
	default:
		return Association(dst, association), nil
	}

	if fault != errNone {
		return Association(dst, association), fault
	}

	return out, nil
}

// Association appends the key of what belongs to an association and to no session in it.
func Association(dst []byte, association uint64) []byte {
	return appendAssociation(dst, KindAssociation, association)
}

// appendAssociation appends how the keys that contain an association begin.
func appendAssociation(dst []byte, kind Kind, association uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byte(kind)), association)
}

// appendNumbered appends the key of a numbered session of an association.
func appendNumbered(dst []byte, kind Kind, association uint64, number uint32) []byte {
	return binary.BigEndian.AppendUint32(appendAssociation(dst, kind, association), number)
}

// Hash returns the xxh3-64 (seed 0) of a key, which places it on the ring. It is the
// same on every machine.
func Hash(k []byte) uint64 { return xxh3.Hash(k) }

// KindOf returns the kind of a key, 0 for an empty one.
func KindOf(k []byte) Kind {
	if len(k) == 0 {
		return 0
	}

	return Kind(k[0])
}

// HasAssociation tells whether a key contains the number of its association, so that
// the same session of the same peer has another key on its next association.
func HasAssociation(k []byte) bool {
	switch KindOf(k) {
	case KindAssociation, KindS1AP, KindNGAP, KindH248:
		return len(k) >= 9
	case KindISUP, KindSCCP, KindM3UA, KindDiameter, KindStation, KindCall, KindPool:
		return false
	default:
		return false
	}
}

// WithAssociation appends to dst the key k with another number of its association, or k
// as it is where HasAssociation says no. Runs are compared with all numbers set to 0.
func WithAssociation(dst, k []byte, association uint64) []byte {
	at := len(dst)
	dst = append(dst, k...)

	if HasAssociation(k) {
		binary.BigEndian.PutUint64(dst[at+1:], association)
	}

	return dst
}
