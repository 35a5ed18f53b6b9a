package textfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skyring/protocol/textfile"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small")
	text := bytes.Repeat([]byte("x"), 100)

	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	if got, err := textfile.Read(path, 100); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}

	if got, err := textfile.Read(path, 99); err == nil || got != nil || !strings.Contains(err.Error(), "99 bytes") || !strings.Contains(err.Error(), path) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A device without an end is given up at the limit.
func TestEndlessFiles(t *testing.T) {
	if got, err := textfile.Read("/dev/zero", 1<<16); err == nil || got != nil || !strings.Contains(err.Error(), "65536 bytes") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestFaultsOfFiles(t *testing.T) {
	directory := t.TempDir()
	missing := filepath.Join(directory, "missing")

	if _, err := textfile.Read(missing, 1); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Error(err)
	}

	if _, err := textfile.Read(directory, 1); err == nil || !strings.Contains(err.Error(), directory) {
		t.Error(err)
	}
}
