package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"skyring/protocol"
)

// nonce is the challenge for a station on an association: Redis time in us (8 bytes), then the first 16 bytes of HMAC-SHA-256 under the namespace's
// secret of station, association and time. So a challenge needs no memory: any processor can tell whether it was made here, for whom, and when.
func (c Config) nonce(station protocol.StationID, epoch uint64, now int64) [protocol.NonceSize]byte {
	var text [24]byte
	binary.BigEndian.PutUint64(text[0:], uint64(station))
	binary.BigEndian.PutUint64(text[8:], epoch)
	binary.BigEndian.PutUint64(text[16:], uint64(now))
	mac := hmac.New(sha256.New, c.Secret[:])
	mac.Write(text[:])
	var nonce [protocol.NonceSize]byte
	copy(nonce[:8], text[16:])
	copy(nonce[8:], mac.Sum(nil))
	return nonce
}

// made tells whether a nonce is a challenge made here for a station on an association, and when; us.
func (c Config) made(nonce [protocol.NonceSize]byte, station protocol.StationID, epoch uint64) (at int64, ok bool) {
	at = int64(binary.BigEndian.Uint64(nonce[:8]))
	again := c.nonce(station, epoch, at)
	return at, hmac.Equal(again[:], nonce[:])
}
