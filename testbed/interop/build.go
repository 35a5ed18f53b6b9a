package interop

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed peer/peer.c
var source []byte

// ErrNoCompiler is what errors.Is finds when there is no C compiler.
var ErrNoCompiler = errors.New("no C compiler: install gcc, libc6-dev and libusrsctp-dev")

// Build compiles the peer into a directory and returns the program's path. It needs cc and usrsctp's header and library.
func Build(ctx context.Context, dir string) (program string, err error) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		return "", ErrNoCompiler
	}
	program, text := filepath.Join(dir, "peer"), filepath.Join(dir, "peer.c")
	if err := os.WriteFile(text, source, 0o600); err != nil {
		return "", fmt.Errorf("write the peer's source: %w", err)
	}
	args := []string{"-O2", "-Wall", "-Wextra", "-Werror", "-o", program, text, "-lusrsctp", "-lpthread"}
	out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput() //nolint:gosec // our own source
	if err != nil {
		return "", fmt.Errorf("compile the peer (it needs libusrsctp-dev): %w\n%s", err, out)
	}
	return program, nil
}
