package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the command skyring for scripts and for tests that
// run processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"skyring": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()

	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("REPOSITORY", repository(t))

			return os.Mkdir(filepath.Join(env.WorkDir, "state"), 0o700)
		},
	})
}
