package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// repository is the root of the tree: scripts run in empty directories.
func repository(t *testing.T) string {
	t.Helper()

	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}

	return filepath.Dir(filepath.Dir(wd))
}

// units are the files for systemd, by name.
func units(t *testing.T) map[string]string {
	t.Helper()

	files, err := filepath.Glob(filepath.Join(repository(t), "deploy", "systemd", "*.service"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}

	all := map[string]string{}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		all[filepath.Base(file)] = string(text)
	}

	return all
}

func TestUnitsAreSound(t *testing.T) {
	t.Parallel()

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("systemd-analyze is missing: make test installs it")
	}

	if err != nil {
		t.Skip("systemd-analyze is missing: the units are not verified")
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	args := []string{"verify", "--man=no"}

	for name, text := range units(t) {
		file := filepath.Join(dir, name)
		args = append(args, file)

		// systemd-analyze wants the program to be there.
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/usr/local/bin/skyring", self)), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if complaints, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput(); err != nil || len(complaints) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, complaints)
	}
}

// TestUnitsStartWhatThereIs runs the commands of the units as far as their settings, and
// holds the time that systemd gives them against the time that draining may take.
func TestUnitsStartWhatThereIs(t *testing.T) {
	defaults := DefaultConfig()
	worst := map[string]time.Duration{
		"skyring-dispatcher.service": defaults.Dispatcher.DrainTimeout,
		"skyring-processor@.service": 2 * defaults.Processor.DrainTimeout,
	}
	example := filepath.Join(repository(t), "deploy", "skyring.yaml")

	for name, text := range units(t) {
		start := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/skyring (.*)$`).FindStringSubmatch(text)
		stop := regexp.MustCompile(`(?m)^TimeoutStopSec=([0-9]+)$`).FindStringSubmatch(text)

		if start == nil || stop == nil {
			t.Fatalf("%s: %v, %v", name, start, stop)
		}

		command := strings.NewReplacer("%i", "p1", "/etc/skyring/skyring.yaml", example).Replace(start[1])
		if printed, err := output(t, append(strings.Fields(command), "--print-config")...); err != nil || !strings.Contains(printed, "gcc-north") {
			t.Errorf("%s: %s: %v\n%s", name, command, err, printed)
		}

		if d, err := time.ParseDuration(stop[1] + "s"); err != nil || d <= worst[name] {
			t.Errorf("%s: TimeoutStopSec is %s, %v; draining may take %s", name, stop[1], err, worst[name])
		}
	}
}
