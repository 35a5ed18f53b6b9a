package sctpbench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownTime is what this process has used of the processors.
func ownTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Sprintf("sctpbench: getrusage: %v", err)) // cannot be: the arguments are right
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// timeOf is what another process has used of the processors until now: its CPU clock, see clock_getcpuclockid(3).
func timeOf(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED, of the whole process
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// busyTime is what the machine's processors have been busy for, all together; 0 where /proc does not say it.
func busyTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const tick = time.Second / 100 // USER_HZ
	var busy time.Duration
	for i, field := range strings.Fields(line) {
		const idle, wait, steal = 4, 5, 8 // what follows steal is in user time already
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || i == idle || i == wait || i > steal {
			continue
		}
		busy += time.Duration(n) * tick
	}
	return busy
}

// loadAverage is that of the last 1, 5 and 15 minutes; empty where /proc does not say it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return ""
	}
	return strings.Join(fields[:3], " ")
}
