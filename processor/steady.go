package processor

import (
	"math"
	"time"

	"skyring/processor/load"
)

// steadyTime is how long the CPU load that heartbeats tell looks back, about: a second in which a garbage collection or another process took the machine would put a node
// at its limit, where it then stays for the dispatchers' hysteresis.
const steadyTime = 5 * time.Second

// steady is a load whose CPU is smoothed: an exponential average with steadyTime as its time constant. Memory is as it is, it does not jump.
type steady struct {
	load load.Load
	at   time.Time // zero: nothing was measured yet
}

// add takes a measurement, and returns what is told.
func (s *steady) add(measured load.Load, now time.Time) load.Load {
	part := 1.0
	if !s.at.IsZero() {
		part = 1 - math.Exp(-now.Sub(s.at).Seconds()/steadyTime.Seconds())
	}
	s.load = load.Load{CPU: s.load.CPU + part*(measured.CPU-s.load.CPU), Memory: measured.Memory}
	s.at = now
	return s.load
}
