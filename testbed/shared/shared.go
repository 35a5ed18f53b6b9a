// Package shared finds the captures and malformed input that lie beside the
// project in ../shared. They belong to others and are never copied into it.
package shared

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Dir returns the folder ../shared beside the project. Where it is missing the
// test is skipped, except under CI (environment variable CI=true), where it fails:
// a green run there must have read the captures.
func Dir(tb testing.TB) string {
	tb.Helper()

	_, file, _, ok := runtime.Caller(0)
	if !ok {
		tb.Fatal("the folder of this source file is not known to the runtime")
	}

	dir := filepath.Join(filepath.Dir(file), "..", "..", "..", "shared")
	if _, err := os.Stat(filepath.Join(dir, "traces", "manifest.tsv")); err == nil {
		return dir
	}

	if os.Getenv("CI") == "true" {
		tb.Fatalf("%s/traces/manifest.tsv is missing: the captures must lie beside the project", dir)
	}

	tb.Skipf("%s/traces/manifest.tsv is missing: tests on captures are skipped", dir)

	return ""
}

// Traces returns the folder of the captures, traces/ in Dir.
func Traces(tb testing.TB) string {
	tb.Helper()

	return filepath.Join(Dir(tb), "traces")
}
