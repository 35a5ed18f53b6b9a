package bus

import (
	"fmt"
	"strconv"
)

// Hex is a number that JSON carries as a string of 16 hexadecimal digits: it may be
// more than a double holds.
type Hex uint64

// String is the number as 16 hexadecimal digits.
func (h Hex) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// MarshalText is String.
func (h Hex) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hex) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil {
		return fmt.Errorf("%q is no hexadecimal number of 64 bits: %w", text, err)
	}

	*h = Hex(n)

	return nil
}
