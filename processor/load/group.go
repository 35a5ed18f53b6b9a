package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// groups are the directories of this process' control groups by what they limit, each from the own one up to the one that is mounted. An empty list: there
// is none, or none that can be seen.
type groups struct {
	proc string // directory of the process in /proc

	unified                  []string // version 2
	cpuV1, cpuacct, memoryV1 []string // version 1
}

// membership is a line of /proc/self/cgroup (cgroups(7)): in which group of a hierarchy the process is.
type membership struct {
	controllers []string // none: version 2
	path        string   // from the root of the cgroup namespace
}

// findGroups reads where the process is, and where that is mounted.
func findGroups(root string) (groups, error) {
	g := groups{proc: filepath.Join(root, "proc", "self")}
	text, err := os.ReadFile(filepath.Join(g.proc, "cgroup"))
	if err != nil {
		return g, fmt.Errorf("find the control groups: %w", err)
	}
	mounts, err := readMounts(filepath.Join(g.proc, "mountinfo"))
	if err != nil {
		return g, err
	}
	for line := range strings.Lines(string(text)) {
		m, ok := parseMembership(strings.TrimSuffix(line, "\n"))
		if !ok {
			return g, fmt.Errorf("%s: %q is no control group, 0::/path would be one", filepath.Join(g.proc, "cgroup"), strings.TrimSpace(line))
		}
		if len(m.controllers) == 0 {
			g.unified = directories(root, mounts, "", m.path)
		}
		for _, c := range []struct {
			name string
			into *[]string
		}{{"cpu", &g.cpuV1}, {"cpuacct", &g.cpuacct}, {"memory", &g.memoryV1}} {
			if slices.Contains(m.controllers, c.name) {
				*c.into = directories(root, mounts, c.name, m.path)
			}
		}
	}
	return g, nil
}

func parseMembership(line string) (membership, bool) {
	fields := strings.SplitN(line, ":", 3)
	if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
		return membership{}, false
	}
	m := membership{path: strings.TrimSuffix(fields[2], " (deleted)")}
	if fields[1] != "" {
		m.controllers = strings.Split(fields[1], ",")
	}
	return m, true
}

// directories are those of a group and of the groups above it. The first mount that shows the group wins: some show another part of the hierarchy.
func directories(root string, mounts []mount, controller, group string) []string {
	for _, m := range mounts {
		if !m.serves(controller) {
			continue
		}
		top := filepath.Join(root, m.point)
		below, inside := m.below(group)
		if own := filepath.Join(top, below); inside && isDirectory(own) {
			return upTo(top, own)
		}
		if hasProcess(top) { // the path is that of another namespace
			return []string{top}
		}
	}
	return nil
}

// upTo lists own and what is above it, up to top.
func upTo(top, own string) []string {
	all := []string{own}
	for own != top {
		own = filepath.Dir(own)
		all = append(all, own)
	}
	return all
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// hasProcess tells that this process is in a group itself.
func hasProcess(directory string) bool {
	text, err := os.ReadFile(filepath.Join(directory, "cgroup.procs"))
	return err == nil && slices.Contains(strings.Fields(string(text)), strconv.Itoa(os.Getpid()))
}

// below is where a group is under what is mounted. What is above the root of the namespace has no names.
func (m mount) below(group string) (string, bool) {
	switch {
	case climbs(group), climbs(m.root):
		return "", false
	case m.root == "/":
		return group, true
	case group == m.root:
		return "", true
	default:
		return strings.CutPrefix(group, m.root+"/")
	}
}

// climbs tells that a path leaves the root of the namespace.
func climbs(path string) bool { return slices.Contains(strings.Split(path, "/"), "..") }
