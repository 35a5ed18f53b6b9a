package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStaleDirectories removes what killed processes left, and nothing else.
func TestStaleDirectories(t *testing.T) {
	t.Parallel()

	root := t.TempDir()
	now := time.Now()
	later := now.Add(2 * staleAge)

	directory := func(name string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Join(path, "appendonlydir"), 0o700); err != nil {
			t.Fatal(err)
		}

		return path
	}

	alive, err := temporaryDir(root, "skyring-replay-", now)
	if err != nil {
		t.Fatal(err)
	}

	killed, other := directory("skyring-replay-killed"), directory("other")
	if err := os.Symlink(other, filepath.Join(root, "skyring-replay-link")); err != nil {
		t.Fatal(err)
	}

	young, err := temporaryDir(root, "skyring-replay-", now)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(killed); err != nil {
		t.Errorf("one that may be about to be locked is gone: %v", err)
	}

	next, err := temporaryDir(root, "skyring-replay-", later)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Errorf("what a killed process left is there: %v", err)
	}

	for _, path := range []string{alive.path, young.path, other, filepath.Join(root, "skyring-replay-link")} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}

	for _, one := range []*temporary{alive, young, next} {
		if err := one.remove(); err != nil {
			t.Error(err)
		}

		if _, err := os.Stat(one.path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", one.path, err)
		}
	}
}
