package policy

import (
	"errors"
	"fmt"
)

// maxVirtualNodes bounds all virtual nodes of a ring together: 8 bytes each.
const maxVirtualNodes = 1 << 24

// Validate reports every option that is out of its range, but for Ring, which ring.Validate knows.
func (o Options) Validate() error {
	var faults []error

	if o.Limits > IgnoreLimits {
		faults = append(faults, fmt.Errorf("limits: rule %d is none: %d (respect) and %d (ignore) are", o.Limits, RespectLimits, IgnoreLimits))
	}

	if o.VirtualNodes < 0 || o.VirtualNodes > maxVirtualNodes {
		faults = append(faults, fmt.Errorf("virtual nodes: %d is out of 1..%d (0: the policy's default)", o.VirtualNodes, maxVirtualNodes))
	}

	if !(o.Threshold >= 0) { // also refuses NaN
		faults = append(faults, fmt.Errorf("threshold: %v: want a part of the median such as 0.05 (0: the policy's default)", o.Threshold))
	}

	if o.Interval < 0 {
		faults = append(faults, fmt.Errorf("interval: %v: want a positive time (0: the policy's default)", o.Interval))
	}

	if o.Bits < 0 || o.Bits > maxBits {
		faults = append(faults, fmt.Errorf("bits: %d is out of 1..%d (0: the policy's default)", o.Bits, maxBits))
	}

	return errors.Join(faults...)
}
