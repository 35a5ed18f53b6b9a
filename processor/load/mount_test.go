package load_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"skyring/processor/load"
)

// half uses half of a limit of CPU time and memory in a group of version 2.
func (t tree) half(directory string) {
	t.tb.Helper()
	t.files(map[string]string{
		directory + "/cpu.max": "100000 100000", directory + "/cpu.stat": "usage_usec 1",
		directory + "/memory.max": "1000", directory + "/memory.current": "500",
	})
}

// Where control groups are mounted, and as what, is the business of whoever made the container.
func TestMounts(t *testing.T) {
	t.Parallel()
	own := strconv.Itoa(os.Getpid())
	const found, none = true, false
	for name, test := range map[string]struct {
		cgroup, mounts string
		directory      string // of the group
		procs          string // processes in it
		seen           bool
	}{
		"namespace of its own":      {"0::/", "9 1 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup", "", found},
		"own group mounted":         {"0::/docker/abc", "9 1 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup", "", found},
		"group above mounted":       {"0::/docker/abc/d", "9 1 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup/d", "", found},
		"other name":                {"0::/docker/abcd", "9 1 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup", "1\n", none},
		"path of another namespace": {"0::/pods/x", "9 1 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup", "1\n" + own + "\n", found},
		"outside of the namespace":  {"0::/../x", "9 1 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup/x", "", none},
		"beside the namespace":      {"0::/../x", "9 1 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/x", "", none},
		"mount from above":          {"0::/", "9 1 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup", "1\n", none},
		"blanks":                    {"0::/my group", `9 1 0:26 / /mnt/control\040groups\134 ro - cgroup2 cgroup rw`, `mnt/control groups\/my group`, "", found},
		"no optional fields, and others": {
			"0::/a", "9 1 0:26 / /sys/fs/cgroup ro shared:1 master:2 new - cgroup2 cgroup rw\ngarbage\n\n1 - 2", "sys/fs/cgroup/a", "", found,
		},
		"second mount shows it": {
			"0::/a", "8 1 0:26 /a /mnt ro - cgroup2 cgroup rw\n9 1 0:26 /elsewhere /sys/fs/cgroup ro - cgroup2 cgroup rw", "mnt", "", found,
		},
		"one over another": {
			"0::/a", "8 1 0:26 / /sys/fs ro - cgroup2 cgroup rw\n9 1 0:26 /a /sys/fs ro - cgroup2 cgroup rw", "sys/fs", "", found,
		},
		"deleted":     {"0::/a (deleted)", "9 1 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw", "sys/fs/cgroup/a", "", found},
		"not mounted": {"0::/a", "8 1 0:26 / / rw - ext4 /dev/sda rw", "sys/fs/cgroup/a", "", none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := plain(t)
			x.half(test.directory)
			x.write("sys/fs/a/cgroup.procs", "") // a group of the same name below
			x.files(map[string]string{
				"proc/self/cgroup": test.cgroup + "\n", "proc/self/mountinfo": test.mounts + "\n", test.directory + "/cgroup.procs": test.procs,
			})
			s := x.sampler()
			x.write(test.directory+"/cpu.stat", "usage_usec 500001")
			if test.seen {
				x.want(after(s), 0.5, 0.5)
			} else {
				x.want(after(s), 0, 0.1)
			}
		})
	}
}

func TestUnreadableGroups(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"garbage\n", "0::\n", "0:\n", "\n"} {
		x := plain(t)
		x.unified()
		x.write("proc/self/cgroup", text)
		if _, err := load.New(x.root); err == nil || !strings.Contains(err.Error(), "0::/path") {
			t.Errorf("%q: %v", text, err)
		}
	}
	x := plain(t)
	x.unified()
	x.remove("proc/self/mountinfo")
	if _, err := load.New(x.root); err == nil || !strings.Contains(err.Error(), "mounted") {
		t.Errorf("%v", err)
	}
}

// legacy puts the process into groups of version 1, with that of systemd and an empty version 2 beside, as hybrid systems have it.
func (t tree) legacy(cpu, cpuacct, memory string) {
	t.tb.Helper()
	together := "31 22 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	controllers := "4:cpu,cpuacct:" + cpu + "\n"
	if cpuacct != cpu {
		together = "31 22 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n32 22 0:30 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n"
		controllers = "4:cpu:" + cpu + "\n5:cpuacct:" + cpuacct + "\n"
	}
	t.files(map[string]string{
		"proc/self/cgroup": "9:name=systemd:/x\n" + controllers + "3:memory:" + memory + "\n0::/\n",
		"proc/self/mountinfo": together + "33 22 0:31 / /cg/memory rw - cgroup cgroup rw,memory\n34 22 0:32 / /cg/systemd rw - cgroup cgroup rw,name=systemd\n" +
			"35 22 0:33 / /cg/unified rw - cgroup2 cgroup2 rw\n",
		"cg/unified/cpu.stat": "usage_usec 99999999\n", "cg/memory" + memory + "/cgroup.procs": "",
	})
}

const (
	// noLimit is what version 1 has for none.
	noLimit = "9223372036854771712\n"
	// ownStat is /proc/self/stat of a process with 3 s of user and 1 s of system time, and a name made to be taken for columns.
	ownStat = "77 (sky) 1 2 (ring) S 1 77 77 0 -1 4194560 1 2 3 4 300 100 8 9 20 0 1 0 5 6 7\n"
)

func TestVersion1(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cpu, cpuacct, memory string // groups
		files, later         map[string]string
		cpuLoad, memoryLoad  float64
	}{
		"own limits": {
			"/a", "/a", "/m",
			map[string]string{
				"cg/cpu,cpuacct/a/cpu.cfs_quota_us": "25000\n", "cg/cpu,cpuacct/a/cpu.cfs_period_us": "50000\n", "cg/cpu,cpuacct/a/cpuacct.usage": "1000000000\n",
				"cg/memory/m/memory.limit_in_bytes": "2000\n", "cg/memory/m/memory.usage_in_bytes": "1500\n", "cg/memory/m/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
			},
			map[string]string{"cg/cpu,cpuacct/a/cpuacct.usage": "1400000000\n"},
			0.8, 0.6,
		},
		"limits above, none below": {
			"/a/b", "/a/b", "/m/n",
			map[string]string{
				"cg/cpu,cpuacct/a/cpu.cfs_quota_us": "200000", "cg/cpu,cpuacct/a/cpu.cfs_period_us": "100000", "cg/cpu,cpuacct/a/cpuacct.usage": "1000",
				"cg/cpu,cpuacct/a/b/cpu.cfs_quota_us": "-1\n", "cg/cpu,cpuacct/a/b/cpu.cfs_period_us": "100000", "cg/cpu,cpuacct/a/b/cpuacct.usage": "1000",
				"cg/memory/m/n/memory.limit_in_bytes": noLimit, "cg/memory/m/n/memory.usage_in_bytes": "5", "cg/memory/m/memory.limit_in_bytes": "1000", "cg/memory/m/memory.usage_in_bytes": "400",
			},
			map[string]string{"cg/cpu,cpuacct/a/cpuacct.usage": "1000001000", "cg/cpu,cpuacct/a/b/cpuacct.usage": "100000"},
			0.5, 0.4,
		},
		"apart, the same group": {
			"/a", "/a/c", "/m",
			map[string]string{
				"cg/cpu/a/cpu.cfs_quota_us": "100000", "cg/cpu/a/cpu.cfs_period_us": "100000", "cg/cpuacct/a/cpuacct.usage": "1000", "cg/cpuacct/a/c/cpuacct.usage": "1000",
				"proc/self/stat": ownStat,
			},
			map[string]string{"cg/cpuacct/a/cpuacct.usage": "300001000"},
			0.3, 0.1,
		},
		"apart, another group": {
			"/a", "/x", "/m",
			map[string]string{
				"cg/cpu/a/cpu.cfs_quota_us": "100000", "cg/cpu/a/cpu.cfs_period_us": "100000", "cg/cpuacct/x/cpuacct.usage": "1000", "proc/self/stat": ownStat,
			},
			map[string]string{"cg/cpuacct/x/cpuacct.usage": "900001000", "proc/self/stat": strings.ReplaceAll(ownStat, "300 100", "320 120")},
			0.4, 0.1,
		},
		"no limits": {
			"/a", "/a", "/m",
			map[string]string{
				"cg/cpu,cpuacct/a/cpu.cfs_quota_us": "-1", "cg/cpu,cpuacct/a/cpuacct.usage": "1000000000", "cg/memory/m/memory.limit_in_bytes": noLimit,
				"cg/memory/m/memory.usage_in_bytes": "1500",
			},
			nil, 0, 0.1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := plain(t)
			x.legacy(test.cpu, test.cpuacct, test.memory)
			x.files(test.files)
			s := x.sampler()
			x.files(test.later)
			x.want(after(s), test.cpuLoad, test.memoryLoad)
		})
	}
	for file, text := range map[string]string{"cpu.cfs_quota_us": "0", "cpu.cfs_period_us": "none"} {
		x := plain(t)
		x.legacy("/a", "/a", "/m")
		x.files(map[string]string{"cg/cpu,cpuacct/a/cpu.cfs_quota_us": "100", "cg/cpu,cpuacct/a/cpu.cfs_period_us": "100"})
		x.write("cg/cpu,cpuacct/a/"+file, text)
		if _, err := load.New(x.root); err == nil || !strings.Contains(err.Error(), "cpu.cfs_quota_us") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
