package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// limit is what one group may use of something.
type limit struct {
	bound func() (value float64, limited bool, err error) // CPUs, or bytes; a file that is not there limits nothing
	use   func() uint64                                   // us of CPU time, or bytes; 0: not known
}

// cpu are the limits of CPU time. A controller is in version 1 or in version 2, never in both.
func (g groups) cpu() []limit {
	var limits []limit
	for _, directory := range g.unified {
		limits = append(limits, limit{
			bound: func() (float64, bool, error) { return cpuMax(filepath.Join(directory, "cpu.max")) },
			use:   func() uint64 { return entry(filepath.Join(directory, "cpu.stat"), "usage_usec") },
		})
	}
	for level, directory := range g.cpuV1 {
		limits = append(limits, limit{
			bound: func() (float64, bool, error) { return cpuQuota(directory) },
			use:   g.usedV1(level),
		})
	}
	return limits
}

// usedV1 tells the CPU time of the group at a level of the hierarchy of cpu: that of the group of the same name in cpuacct, which most systems mount
// together. Where they are apart and the process is in another one there, its own time is a part of it.
func (g groups) usedV1(level int) func() uint64 {
	if len(g.cpuacct) > 0 {
		below := strings.TrimPrefix(g.cpuV1[level], g.cpuV1[len(g.cpuV1)-1])
		if same := filepath.Join(g.cpuacct[len(g.cpuacct)-1], below); slices.Contains(g.cpuacct, same) {
			name := filepath.Join(same, "cpuacct.usage")
			return func() uint64 {
				ns, _ := number(name) // none is as good as 0
				return ns / 1000
			}
		}
	}
	return func() uint64 { return ownTime(filepath.Join(g.proc, "stat")) }
}

// memory are the limits of memory.
func (g groups) memory() []limit {
	var limits []limit
	for _, directory := range g.unified {
		limits = append(limits, limit{
			bound: func() (float64, bool, error) { return memoryMax(filepath.Join(directory, "memory.max")) },
			use:   func() uint64 { return working(directory, "memory.current", "inactive_file") },
		})
	}
	for _, directory := range g.memoryV1 {
		limits = append(limits, limit{
			bound: func() (float64, bool, error) { return memoryMax(filepath.Join(directory, "memory.limit_in_bytes")) },
			use:   func() uint64 { return working(directory, "memory.usage_in_bytes", "total_inactive_file") },
		})
	}
	return limits
}

// cpuMax reads cpu.max, "quota period" in us or "max period", as a number of CPUs.
func cpuMax(name string) (float64, bool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false, absent(err)
	}
	fields := strings.Fields(string(text))
	if len(fields) > 0 && fields[0] == "max" {
		return 0, false, nil
	}
	if len(fields) == 2 {
		quota, err1 := strconv.ParseUint(fields[0], 10, 64)
		period, err2 := strconv.ParseUint(fields[1], 10, 64)
		if err1 == nil && err2 == nil && quota > 0 && period > 0 {
			return float64(quota) / float64(period), true, nil
		}
	}
	return 0, false, fmt.Errorf("%s: %q is no limit, such as 50000 100000 or max 100000", name, text)
}

// cpuQuota reads cpu.cfs_quota_us, -1 for no limit, and cpu.cfs_period_us as a number of CPUs.
func cpuQuota(directory string) (float64, bool, error) {
	name := filepath.Join(directory, "cpu.cfs_quota_us")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false, absent(err)
	}
	quota, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || quota == 0 {
		return 0, false, fmt.Errorf("%s: %q is no limit, such as 50000 or -1", name, text)
	}
	if quota < 0 {
		return 0, false, nil
	}
	period, err := number(filepath.Join(directory, "cpu.cfs_period_us"))
	if err != nil || period == 0 {
		return 0, false, errors.Join(fmt.Errorf("%s has a limit, but no period beside it", name), err)
	}
	return float64(quota) / float64(period), true, nil
}

// memoryMax reads a limit of memory in bytes. For none version 1 writes the largest number of whole pages, of which nobody uses any part.
func memoryMax(name string) (float64, bool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false, absent(err)
	}
	value := strings.TrimSpace(string(text))
	if value == "max" || value == "-1" {
		return 0, false, nil
	}
	bytes, err := strconv.ParseUint(value, 10, 64)
	if err != nil || bytes == 0 {
		return 0, false, fmt.Errorf("%s: %q is no limit, such as 1073741824 or max", name, text)
	}
	return float64(bytes), true, nil
}

// working is the memory of a group without what the kernel gives back first.
func working(directory, total, inactive string) uint64 {
	used, err := number(filepath.Join(directory, total))
	if err != nil {
		return 0
	}
	return used - min(used, entry(filepath.Join(directory, "memory.stat"), inactive))
}

// absent takes a file that is not there for one that says nothing: the controller is off in that group, as in every root.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// number reads a file of one number.
func number(name string) (uint64, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// entry reads one line "key number" of a file; 0: it is not there.
func entry(name, key string) uint64 {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == key {
			n, _ := strconv.ParseUint(fields[1], 10, 64) // no number is as good as no line
			return n
		}
	}
	return 0
}
