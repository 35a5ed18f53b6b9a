package client

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// newBoot draws a boot nonce, which is not 0.
func newBoot() (uint64, error) {
	var b [8]byte

	for {
		if _, err := rand.Read(b[:]); err != nil {
			return 0, fmt.Errorf("draw a boot nonce: %w", err)
		}

		if boot := binary.BigEndian.Uint64(b[:]); boot != 0 {
			return boot, nil
		}
	}
}
