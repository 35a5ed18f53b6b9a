package load_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"skyring/processor/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// until calls so, some times a second, until it is so.
func until(tb testing.TB, so func() bool) {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline.C:
			tb.Fatal("did not happen")
		}
	}
}

func TestThisMachine(t *testing.T) {
	t.Parallel()
	s, err := load.New("/")
	if err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s.Sample(time.Now())
	until(t, func() bool { // this loop alone makes it busy
		now := s.Sample(time.Now())
		if now.CPU < 0 || now.CPU > 1 || now.Memory <= 0 || now.Memory > 1 {
			t.Fatalf("%+v", now)
		}
		return now.CPU > 0
	})
}

// inGroup is the variable under which the test calls itself: a directory of control groups for each line.
const inGroup = "SKYRING_LOAD_TEST_GROUP"

// A process in a group of a tenth of a CPU and 256 MiB that works all the time and holds 32 MiB sees both limits, whatever the machine does.
func TestRealGroup(t *testing.T) {
	t.Parallel()
	directories, err := makeGroups(t)
	if err != nil {
		t.Skipf("no group can be made here: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestInsideGroup$", "-test.v")
	cmd.Env = append(os.Environ(), inGroup+"="+strings.Join(directories, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// makeGroups makes groups with limits, of the version that the machine has.
func makeGroups(tb testing.TB) ([]string, error) {
	tb.Helper()
	if runtime.GOOS != "linux" {
		return nil, errors.New(runtime.GOOS + " has none")
	}
	name := "skyring-load-test-" + strconv.Itoa(os.Getpid())
	legacy := map[string]map[string]string{
		"cpu": {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}, "cpuacct": nil, "memory": {"memory.limit_in_bytes": "268435456"},
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		legacy = map[string]map[string]string{"": {"cpu.max": "10000 100000", "memory.max": "268435456"}}
	}
	var made []string
	for controller, files := range legacy {
		directory := filepath.Join("/sys/fs/cgroup", controller, name)
		if err := os.Mkdir(directory, 0o755); errors.Is(err, os.ErrExist) {
			continue // the same hierarchy under another name
		} else if err != nil {
			return nil, err
		}
		tb.Cleanup(func() {
			until(tb, func() bool { return os.Remove(directory) == nil }) // the process that was in it has ended
		})
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(directory, file), []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
		made = append(made, directory)
	}
	return made, nil
}

// TestInsideGroup is the process that TestRealGroup starts.
func TestInsideGroup(t *testing.T) {
	groups := os.Getenv(inGroup)
	if groups == "" {
		t.Skip("TestRealGroup calls it")
	}
	for directory := range strings.SplitSeq(groups, "\n") {
		if err := os.WriteFile(filepath.Join(directory, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held := make([]byte, 32<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	root := quietMachine(t)
	s, err := load.New(root)
	if err != nil {
		t.Fatal(err)
	}
	s.Sample(time.Now())
	deadline := time.Now().Add(patience)
	for {
		l := s.Sample(time.Now())
		if l.CPU > 0.5 && l.Memory >= 0.125 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", l)
		}
	}
	runtime.KeepAlive(held)
}

// quietMachine is the real file system, but for a machine that has nothing to do.
func quietMachine(tb testing.TB) string {
	tb.Helper()
	x := plain(tb)
	x.remove("proc/self")
	x.stat(0, 100)
	x.memory(1000, 1000)
	for link, to := range map[string]string{"proc/self": fmt.Sprintf("/proc/%d", os.Getpid()), "sys": "/sys"} {
		if err := os.Symlink(to, filepath.Join(x.root, link)); err != nil {
			tb.Fatal(err)
		}
	}
	return x.root
}
