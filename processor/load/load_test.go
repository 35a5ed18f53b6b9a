package load_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"skyring/processor/load"
)

// line is one of /proc/stat: half of the busy time is the user's, a quarter the system's and a quarter stolen; a fifth of the idle time waits for I/O.
// Guests' time, at the end, is in the user's already.
func line(cpu string, busy, idle int) string {
	busy, idle = 20*busy, 20*idle
	return fmt.Sprintf("%s %d 0 %d %d %d 0 0 %d %d 0\n", cpu, busy/2, busy/4, idle-idle/5, idle/5, busy/4, busy/2)
}

func kilobytes(name string, mebibytes int) string {
	return fmt.Sprintf("%s: %d kB\n", name, mebibytes*1024)
}

// unified puts the process into /a/b of version 2.
func (t tree) unified() {
	t.tb.Helper()
	t.files(map[string]string{
		"proc/self/cgroup":               "0::/a/b\n",
		"proc/self/mountinfo":            "22 1 8:1 / / rw - ext4 /dev/sda rw\n30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
		"sys/fs/cgroup/a/b/cgroup.procs": "",
	})
}

func TestMachineWithoutLimits(t *testing.T) {
	t.Parallel()
	x := plain(t)
	x.unified()
	s := x.sampler()
	x.stat(160, 340)
	x.want(after(s), 0.6, 0.1)
}

// A process that may run on the second CPU alone is as loaded as that one.
func TestPinnedProcess(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"1", "1-1", "1,5-7"} {
		x := plain(t)
		x.unified()
		x.write("proc/self/status", "Cpus_allowed_list:\t"+list+"\n")
		s := x.sampler()
		x.write("proc/stat", line("cpu ", 180, 320)+line("cpu0", 52, 198)+line("cpu1", 130, 170))
		x.want(after(s), 0.8, 0.1)
	}
	x := plain(t)
	x.unified()
	x.write("proc/self/status", "Cpus_allowed_list:\tall of them\n")
	s := x.sampler()
	x.stat(160, 340)
	x.want(after(s), 0.6, 0.1)
}

func TestVersion2(t *testing.T) {
	t.Parallel()
	const group = "sys/fs/cgroup/"
	for name, test := range map[string]struct {
		files       map[string]string // at the first sample
		later       map[string]string // at the second
		cpu, memory float64
	}{
		"own limits": {
			map[string]string{
				group + "a/b/cpu.max": "50000 100000\n", group + "a/b/cpu.stat": "usage_usec 1000000\nuser_usec 5\n",
				group + "a/b/memory.max": "104857600\n", group + "a/b/memory.current": "94371840\n", group + "a/b/memory.stat": "anon 1\ninactive_file 20971520\n",
			},
			map[string]string{group + "a/b/cpu.stat": "usage_usec 1400000\nuser_usec 5\n"},
			0.8, 0.7,
		},
		"limits above": {
			map[string]string{
				group + "a/cpu.max": "100000 100000\n", group + "a/cpu.stat": "usage_usec 7\n", group + "a/b/cpu.max": "max 100000\n",
				group + "a/b/cpu.stat": "usage_usec 5\n", group + "a/memory.max": "104857600\n", group + "a/memory.current": "52428800\n", group + "a/b/memory.max": "max\n",
			},
			map[string]string{group + "a/cpu.stat": "usage_usec 700007\n", group + "a/b/cpu.stat": "usage_usec 100005\n"},
			0.7, 0.5,
		},
		"the tighter of two": { // 0.3 s of 0.4 below, 0.3 s of 2 above; memory the other way round
			map[string]string{
				group + "a/cpu.max": "200000 100000", group + "a/cpu.stat": "usage_usec 1", group + "a/b/cpu.max": "40000 100000", group + "a/b/cpu.stat": "usage_usec 1",
				group + "a/memory.max": "1000", group + "a/memory.current": "900", group + "a/b/memory.max": "1000", group + "a/b/memory.current": "100",
			},
			map[string]string{group + "a/cpu.stat": "usage_usec 300001", group + "a/b/cpu.stat": "usage_usec 300001"},
			0.75, 0.9,
		},
		"more than all of it": {
			map[string]string{group + "a/b/cpu.max": "50000 100000", group + "a/b/cpu.stat": "usage_usec 1", group + "a/b/memory.max": "10", group + "a/b/memory.current": "11"},
			map[string]string{group + "a/b/cpu.stat": "usage_usec 600001"},
			1, 1,
		},
		"machine fuller than the limits": {
			map[string]string{group + "a/b/cpu.max": "900000 100000", group + "a/b/cpu.stat": "usage_usec 1", group + "a/b/memory.max": "1000", group + "a/b/memory.current": "1"},
			map[string]string{group + "a/b/cpu.stat": "usage_usec 9"},
			0.2, 0.1,
		},
		"controllers off": {nil, nil, 0.2, 0.1},
		"counters that are no numbers, or missing": {
			map[string]string{group + "a/b/cpu.max": "50000 100000", group + "a/b/cpu.stat": "usage_usec many\nusage_usec", group + "a/b/memory.max": "1000", group + "a/b/memory.current": "?"},
			nil, 0.2, 0.1,
		},
		"counter that went back": {
			map[string]string{group + "a/b/cpu.max": "50000 100000", group + "a/b/cpu.stat": "usage_usec 900000"},
			map[string]string{group + "a/b/cpu.stat": "usage_usec 5"},
			0.2, 0.1,
		},
		"limit made later": {
			map[string]string{group + "a/b/cpu.max": "max 100000", group + "a/b/cpu.stat": "usage_usec 1", group + "a/b/memory.max": "max", group + "a/b/memory.current": "500"},
			map[string]string{group + "a/b/cpu.max": "50000 100000", group + "a/b/cpu.stat": "usage_usec 250001", group + "a/b/memory.max": "1000"},
			0.5, 0.5,
		},
		"more inactive than there is": {
			map[string]string{group + "a/b/memory.max": "1000", group + "a/b/memory.current": "500", group + "a/b/memory.stat": "inactive_file 600"},
			nil, 0.2, 0.1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := plain(t)
			x.unified()
			x.files(test.files)
			s := x.sampler()
			x.files(test.later)
			x.stat(120, 380)
			x.want(after(s), test.cpu, test.memory)
		})
	}
}

// Limits that can not be read count as none, and New says so.
func TestUnreadableLimits(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		"cpu.max": "lots\n", "memory.max": "-7\n",
	} {
		x := plain(t)
		x.unified()
		x.write("sys/fs/cgroup/a/"+file, text)
		s, err := load.New(x.root)
		if err == nil || !strings.Contains(err.Error(), "/a/"+file) || !strings.Contains(err.Error(), "the load is that of the machine") {
			t.Errorf("%s: %v", file, err)
		}
		s.Sample(start())
		x.stat(120, 380)
		x.want(after(s), 0.2, 0.1)
	}
}

// Two samples at once would divide by next to nothing.
func TestSamplesTooSoon(t *testing.T) {
	t.Parallel()
	x := plain(t)
	x.unified()
	s := x.sampler()
	x.stat(160, 340)
	x.want(after(s), 0.6, 0.1)
	x.stat(170, 340)
	x.memory(1000, 10)
	x.want(s.Sample(start().Add(time.Second+100*time.Millisecond)), 0.6, 0.1)
	x.want(s.Sample(start()), 0.6, 0.1) // a clock that was set back
	x.want(s.Sample(start().Add(2*time.Second)), 1, 0.99)
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	empty := tree{t, t.TempDir()}
	s, err := load.New(empty.root)
	if err == nil || !strings.Contains(err.Error(), "told as 0") {
		t.Errorf("%v", err)
	}
	s.Sample(start())
	empty.want(after(s), 0, 0)

	x := plain(t) // a kernel without control groups
	s, err = load.New(x.root)
	if err == nil || !strings.Contains(err.Error(), "the load is that of the machine") {
		t.Errorf("%v", err)
	}
	s.Sample(start())
	x.stat(160, 340)
	x.want(after(s), 0.6, 0.1)
}

// A machine that can not be read leaves the groups' limits.
func TestMachineUnreadable(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{"proc/stat": "cpu one two three four five\ncpu0 1\n", "proc/meminfo": "MemTotal: much kB\n\nMemAvailable:\n"} {
		x := plain(t)
		x.unified()
		x.write(file, text)
		x.files(map[string]string{"sys/fs/cgroup/a/cpu.max": "50000 100000", "sys/fs/cgroup/a/cpu.stat": "usage_usec 1", "sys/fs/cgroup/a/memory.max": "1000", "sys/fs/cgroup/a/memory.current": "600"})
		s, err := load.New(x.root)
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "only that of control groups") {
			t.Errorf("%s: %v", file, err)
		}
		s.Sample(start())
		x.write("sys/fs/cgroup/a/cpu.stat", "usage_usec 300001")
		x.want(after(s), 0.6, 0.6)
		x.remove("proc/self/cgroup")
		if _, err = load.New(x.root); err == nil || !strings.Contains(err.Error(), "told as 0") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
