package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// NonceSize is the length of a log-on nonce in bytes. Stations treat it as opaque.
const NonceSize = 24

// ProofSize is the length of a proof in bytes.
const ProofSize = sha256.Size

// proofLabel keeps these proofs apart from whatever else a station key may be used for.
const proofLabel = "ESSP logon"

// LogonProof returns the proof with which a station shows that it has its key (section
// 13.2): HMAC-SHA-256 under the key of "ESSP logon", station, nonce, boot nonce and beam, big-endian.
// Compare proofs by hmac.Equal.
func LogonProof(key []byte, station StationID, nonce [NonceSize]byte, boot uint64, beam Beam) [ProofSize]byte {
	text := make([]byte, 0, len(proofLabel)+8+NonceSize+8+2)
	text = append(text, proofLabel...)
	text = binary.BigEndian.AppendUint64(text, uint64(station))
	text = append(text, nonce[:]...)
	text = binary.BigEndian.AppendUint64(text, boot)
	text = binary.BigEndian.AppendUint16(text, uint16(beam))

	mac := hmac.New(sha256.New, key)
	mac.Write(text)

	var proof [ProofSize]byte

	mac.Sum(proof[:0])

	return proof
}
