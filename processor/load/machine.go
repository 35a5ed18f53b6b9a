package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// machine is the whole machine, as far as the process may run on it.
type machine struct{ proc string }

// ticks are CPU times, in the kernel's clock ticks (1/100 s).
type ticks struct{ all, idle uint64 }

// busy is the part of the time since before in which the CPUs did something. What a hypervisor took away counts: it was not there for the process.
func (t ticks) busy(before ticks) float64 {
	if t.all <= before.all || t.idle < before.idle || before.all == 0 {
		return 0
	}
	return 1 - float64(t.idle-before.idle)/float64(t.all-before.all)
}

// check tells what can not be read.
func (m machine) check() error {
	var faults []error
	if m.ticks().all == 0 {
		faults = append(faults, fmt.Errorf("%s has no CPU times", filepath.Join(m.proc, "stat")))
	}
	if available, total := m.meminfo(); total == 0 || available == 0 {
		faults = append(faults, fmt.Errorf("%s has no MemTotal or MemAvailable", filepath.Join(m.proc, "meminfo")))
	}
	return errors.Join(faults...)
}

// ticks reads the CPU times of the CPUs that the process may run on, from proc_stat(5).
func (m machine) ticks() ticks {
	text, err := os.ReadFile(filepath.Join(m.proc, "stat"))
	if err != nil {
		return ticks{}
	}
	allowed := m.allowed()
	var all, own ticks
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		t, ok := cpuTimes(fields[1:])
		if !ok {
			continue
		}
		if fields[0] == "cpu" {
			all = t
		} else if cpu, err := strconv.Atoi(fields[0][3:]); err == nil && allowed.has(cpu) {
			own.all, own.idle = own.all+t.all, own.idle+t.idle
		}
	}
	if own.all == 0 {
		return all
	}
	return own
}

// The columns of a CPU in /proc/stat.
const (
	idleColumn   = 3
	iowaitColumn = 4
	columns      = 8 // what follows is in the first ones already
)

func cpuTimes(fields []string) (t ticks, ok bool) {
	if len(fields) <= idleColumn {
		return ticks{}, false
	}
	for i, f := range fields[:min(columns, len(fields))] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return ticks{}, false
		}
		t.all += n
		if i == idleColumn || i == iowaitColumn {
			t.idle += n
		}
	}
	return t, true
}

// memory is the part that is not available.
func (m machine) memory() float64 {
	available, total := m.meminfo()
	if total == 0 || available == 0 {
		return 0
	}
	return 1 - float64(available)/float64(total)
}

// meminfo reads proc_meminfo(5); KiB.
func (m machine) meminfo() (available, total uint64) {
	text, err := os.ReadFile(filepath.Join(m.proc, "meminfo"))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, err := strconv.ParseUint(fields[1], 10, 64)
		switch {
		case err != nil:
		case fields[0] == "MemAvailable:":
			available = n
		case fields[0] == "MemTotal:":
			total = n
		}
	}
	return available, total
}

// ownTime is the CPU time of the process in us, from proc_pid_stat(5).
func ownTime(name string) uint64 {
	const (
		utime = 11 // columns after the name of the program, which may contain anything
		stime = 12
		tick  = 10_000 // us
	)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= stime {
		return 0
	}
	user, err1 := strconv.ParseUint(fields[utime], 10, 64)
	system, err2 := strconv.ParseUint(fields[stime], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return (user + system) * tick
}
