package load

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cpuList is the CPUs that a process may run on; empty: it is not known.
type cpuList []span

type span struct{ first, last int }

// allowed reads Cpus_allowed_list of proc_pid_status(5), where cpusets and affinity come together.
func (m machine) allowed() cpuList {
	text, err := os.ReadFile(filepath.Join(m.proc, "self", "status"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if list, found := strings.CutPrefix(line, "Cpus_allowed_list:"); found {
			return parseCPUs(strings.TrimSpace(list))
		}
	}
	return nil
}

// parseCPUs reads a list such as "0-3,8".
func parseCPUs(list string) cpuList {
	var cpus cpuList
	for one := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(one, "-")
		if !ranged {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil {
			return nil
		}
		cpus = append(cpus, span{first, last})
	}
	return cpus
}

func (l cpuList) has(cpu int) bool {
	for _, s := range l {
		if s.first <= cpu && cpu <= s.last {
			return true
		}
	}
	return false
}
