package load

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// shortest is the time between two measurements: /proc counts CPU time in steps of 10 ms.
const shortest = 200 * time.Millisecond

// Load is the part in use of what the process may use, 0 to 1. What can not be measured is 0.
type Load struct{ CPU, Memory float64 }

// Sampler measures. It is for one goroutine at a time.
type Sampler struct {
	// static after New
	machine machine
	cpu     []limit // of the own group and those above it
	memory  []limit

	// owned by the caller of Sample
	last   Load
	before counters
}

// counters are CPU times as they were at a moment.
type counters struct {
	at      time.Time
	machine ticks
	groups  []uint64 // us, of each limit
}

// New finds the groups of this process below root, "/" but for tests. There is always a sampler; the error says, for the log, what it does not see and
// so tells as 0 or takes as unlimited.
func New(root string) (*Sampler, error) {
	s := &Sampler{machine: machine{proc: filepath.Join(root, "proc")}}
	machine := s.machine.check()
	groups, err := findGroups(root)
	if err == nil {
		s.cpu, s.memory = groups.cpu(), groups.memory()
		err = errors.Join(check(s.cpu), check(s.memory))
	}
	switch {
	case machine != nil && err != nil:
		return s, fmt.Errorf("load of CPU and memory can not be measured, it is told as 0: %w", errors.Join(machine, err))
	case machine != nil:
		return s, fmt.Errorf("load of the machine can not be measured, only that of control groups with limits: %w", machine)
	case err != nil:
		return s, fmt.Errorf("limits of control groups can not be seen, the load is that of the machine: %w", err)
	}
	return s, nil
}

// check reads every limit once.
func check(limits []limit) error {
	var faults []error
	for _, l := range limits {
		if _, _, err := l.bound(); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// Sample measures: memory as it is now, CPU over the time since the last sample, so the first one has none. Sooner than 200 ms after the last one it
// gives the same again.
func (s *Sampler) Sample(now time.Time) Load {
	elapsed := now.Sub(s.before.at)
	if !s.before.at.IsZero() && elapsed < shortest {
		return s.last
	}
	next := counters{at: now, machine: s.machine.ticks(), groups: make([]uint64, len(s.cpu))}
	load := Load{Memory: s.machine.memory()}
	if !s.before.at.IsZero() {
		load.CPU = next.machine.busy(s.before.machine)
	}
	for i, l := range s.cpu {
		next.groups[i] = l.use()
		cores, limited, _ := l.bound() // New told of what can not be read
		if limited && !s.before.at.IsZero() && s.before.groups[i] > 0 && next.groups[i] > s.before.groups[i] {
			used := float64(next.groups[i]-s.before.groups[i]) / float64(elapsed.Microseconds())
			load.CPU = max(load.CPU, used/cores)
		}
	}
	for _, l := range s.memory {
		if bytes, limited, _ := l.bound(); limited {
			load.Memory = max(load.Memory, float64(l.use())/bytes)
		}
	}
	s.before, s.last = next, Load{CPU: clamp(load.CPU), Memory: clamp(load.Memory)}
	return s.last
}

// clamp bounds what is a little more than all by the moments at which it was read.
func clamp(part float64) float64 { return min(max(part, 0), 1) }
