package load

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// mount is a mounted hierarchy of control groups.
type mount struct {
	root    string   // the group that is mounted
	point   string   // where
	kind    string   // cgroup or cgroup2
	options []string // of version 1: its controllers among others
}

// readMounts reads the mounts of control groups, those last that hide others come first.
func readMounts(name string) ([]mount, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("find where control groups are mounted: %w", err)
	}
	var mounts []mount
	for line := range strings.Lines(string(text)) {
		if m, ok := parseMount(line); ok {
			mounts = append(mounts, m)
		}
	}
	slices.Reverse(mounts)
	return mounts, nil
}

// parseMount reads a line of mountinfo (proc_pid_mountinfo(5)): "id parent major:minor root point options optional... - kind source options". Any other
// kind of file system, and what is no such line, is none.
func parseMount(line string) (mount, bool) {
	left, right, found := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
	before, after := strings.Split(left, " "), strings.Split(right, " ")
	if !found || len(before) < 6 || len(after) < 3 || after[0] != "cgroup" && after[0] != "cgroup2" {
		return mount{}, false
	}
	return mount{root: unescape(before[3]), point: unescape(before[4]), kind: after[0], options: strings.Split(after[2], ",")}, true
}

// serves tells that it is the hierarchy of a controller of version 1, or with none that of version 2.
func (m mount) serves(controller string) bool {
	if controller == "" {
		return m.kind == "cgroup2"
	}
	return m.kind == "cgroup" && slices.Contains(m.options, controller)
}

// unescape reads the octal numbers that stand for blanks, tabs, line feeds and backslashes.
func unescape(text string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '\\')
		if at < 0 || len(text) < at+4 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		if code, err := strconv.ParseUint(text[at+1:at+4], 8, 8); err == nil {
			b.WriteByte(byte(code))
			text = text[at+4:]
			continue
		}
		b.WriteByte('\\')
		text = text[at+1:]
	}
}
