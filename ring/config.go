package ring

import (
	"errors"
	"fmt"
)

// Limits of Config.Bits.
const (
	MinBits = 4
	MaxBits = 22
)

// Config is how finely and how strictly a ring divides the keys. All dispatchers of a
// system need the same one.
type Config struct {
	// Bits makes a ring of 2^Bits slots, MinBits..MaxBits. 16 does for some 256 nodes, 20 for
	// some thousands; each slot takes 1 byte up to 256 nodes, else 2, and while building some 20.
	Bits uint8 `yaml:"bits" env:"BITS"`
	// Epsilon is how far a node's slots may exceed its fair share: 0 gives exact shares
	// (largest remainder), 0.01 one percent more at most (at most 1, steps of 10^-6), a negative number no bound and
	// the least movement when nodes change.
	Epsilon float64 `yaml:"epsilon" env:"EPSILON"`
}

// DefaultConfig is right for up to about 256 nodes: 65,536 slots and exact shares.
func DefaultConfig() Config { return Config{Bits: 16, Epsilon: 0} }

// Validate reports every setting that is out of its range.
func (c Config) Validate() error {
	var faults []error

	if c.Bits < MinBits || c.Bits > MaxBits {
		faults = append(faults, fmt.Errorf("bits: %d is out of %d..%d", c.Bits, MinBits, MaxBits))
	}

	if !(c.Epsilon <= 1) { // also refuses NaN
		faults = append(faults, fmt.Errorf("epsilon: %v: want at most 1, such as 0 (exact) or 0.01 (one percent)", c.Epsilon))
	}

	return errors.Join(faults...)
}
