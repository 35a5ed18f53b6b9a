package load_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"skyring/processor/load"
)

// tree is a made-up file system.
type tree struct {
	tb   testing.TB
	root string
}

// plain is a machine of two CPUs and 1,000 MiB without control groups' limits.
func plain(tb testing.TB) tree {
	tb.Helper()
	t := tree{tb, tb.TempDir()}
	t.stat(100, 300)
	t.memory(1000, 900)
	t.write("proc/self/status", "Name:\tskyring\nCpus_allowed_list:\t0-1\n")
	return t
}

func (t tree) write(name, text string) {
	t.tb.Helper()
	name = filepath.Join(t.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.tb.Fatal(err)
	}
}

func (t tree) remove(name string) {
	t.tb.Helper()
	if err := os.RemoveAll(filepath.Join(t.root, name)); err != nil {
		t.tb.Fatal(err)
	}
}

// files writes several at once.
func (t tree) files(files map[string]string) {
	t.tb.Helper()
	for name, text := range files {
		t.write(name, text)
	}
}

// start is when the first sample is taken.
func start() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// sampler has measured once, so that the next sample has a CPU load.
func (t tree) sampler() *load.Sampler {
	t.tb.Helper()
	s, err := load.New(t.root)
	if err != nil {
		t.tb.Fatal(err)
	}
	if first := s.Sample(start()); first.CPU != 0 {
		t.tb.Errorf("CPU load %v before any time has passed", first.CPU)
	}
	return s
}

// after is what the sample a second later has.
func after(s *load.Sampler) load.Load { return s.Sample(start().Add(time.Second)) }

func (t tree) want(got load.Load, cpu, memory float64) {
	t.tb.Helper()
	if !near(got.CPU, cpu) || !near(got.Memory, memory) {
		t.tb.Errorf("CPU %v, memory %v; want %v, %v", got.CPU, got.Memory, cpu, memory)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// stat writes how long both CPUs together were busy and idle, in ticks.
func (t tree) stat(busy, idle int) {
	t.tb.Helper()
	t.write("proc/stat", line("cpu ", busy, idle)+line("cpu0", busy/2, idle/2)+line("cpu1", busy/2, idle/2)+"intr 1 2 3\nctxt 99\n")
}

// memory writes how much the machine has and how much is available, in MiB.
func (t tree) memory(total, available int) {
	t.tb.Helper()
	t.write("proc/meminfo", kilobytes("MemTotal", total)+kilobytes("MemFree", 1)+kilobytes("MemAvailable", available)+"HugePages_Total:       0\n")
}
