package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesAreNotWrittenOver: a file that is there stays as it is, whatever command names it, unless it is told to go.
func TestFilesAreNotWrittenOver(t *testing.T) {
	t.Parallel()

	for _, args := range [][]string{
		{"ring", "show", "--nodes", "p1,p2", "-o"},
		{"trace", "generate", "--messages", "20", "--associations", "1", "-o"},
	} {
		path := filepath.Join(t.TempDir(), "kept")
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}

		text, err := output(t, append(args, path)...)
		if exitCode(err) != exitUsage || !strings.Contains(text, "--output: "+path+" is there already, and is not written over without --force") {
			t.Errorf("%v: %v\n%s", args, err, text)
		}

		if kept, err := os.ReadFile(path); err != nil || string(kept) != "mine" {
			t.Errorf("%v: it holds %q, %v", args, kept, err)
		}

		if text, err := output(t, append(args, path, "--force")...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, text)
		}

		if written, err := os.ReadFile(path); err != nil || strings.Contains(string(written), "mine") || len(written) < 100 {
			t.Errorf("%v: it holds %d bytes, %v", args, len(written), err)
		}

		if text, err := output(t, append(args, "/dev/null")...); err != nil {
			t.Errorf("%v: a device: %v\n%s", args, err, text)
		}
	}
}
