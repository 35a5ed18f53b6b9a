package trace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"skyring/testbed/shared"
	"skyring/testbed/trace"
)

// corpus lists every file that lies beside the project.
func corpus(t testing.TB) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(shared.Traces(t), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("walk the captures: %d files, %v", len(files), err)
	}
	return files
}

func open(t testing.TB, path string) (*trace.Trace, error) {
	t.Helper()
	return trace.Open(context.Background(), path, trace.DefaultConfig())
}

// Every file ends in a trace or in a sentence that names it and a reason.
func TestEveryFileEndsInATraceOrASentence(t *testing.T) {
	for _, path := range corpus(t) {
		got, err := open(t, path)
		if err == nil {
			checkTrace(t, got)
			t.Logf("%s: %d packets %d sctp %d associations %d messages %v", filepath.Base(path), got.Packets, got.SCTPPackets, len(got.Associations), len(got.Messages), got.Warnings)
			continue
		}
		var fault *trace.FileError
		if !errors.As(err, &fault) || fault.File != path || fault.Detail == "" || fault.Want == "" {
			t.Errorf("%s: %v is no sentence that names the file", path, err)
		}
		t.Log(err)
	}
	_ = os.Stdout
}

func checkTrace(t *testing.T, got *trace.Trace) {}
