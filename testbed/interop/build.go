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

// What the peer is made of.
var (
	//go:embed peer/peer.c
	source []byte
	//go:embed peer/kernel.h
	kernelHeader []byte
)

// ErrNoCompiler is what errors.Is finds when there is no C compiler.
var ErrNoCompiler = errors.New("no C compiler: install gcc, libc6-dev and libusrsctp-dev")

// Build compiles the peer into a directory and returns the program's path. It needs cc and usrsctp's header and library.
func Build(ctx context.Context, dir string) (program string, err error) {
	return compile(ctx, dir, "libusrsctp-dev", "-lusrsctp")
}

// BuildKernel compiles the peer that takes its sockets from the kernel, into one file that needs no library: it is for
// another machine, with a kernel that has SCTP.
func BuildKernel(ctx context.Context, dir string) (program string, err error) {
	return compile(ctx, dir, "libc6-dev, linux-libc-dev", "-DKERNEL", "-static")
}

func compile(ctx context.Context, dir, needs string, options ...string) (program string, err error) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		return "", ErrNoCompiler
	}
	program, text := filepath.Join(dir, "peer"), filepath.Join(dir, "peer.c")
	err = errors.Join(os.WriteFile(text, source, 0o600), os.WriteFile(filepath.Join(dir, "kernel.h"), kernelHeader, 0o600))
	if err != nil {
		return "", fmt.Errorf("write the peer's source: %w", err)
	}
	args := append([]string{"-O2", "-Wall", "-Wextra", "-Werror", "-o", program, text, "-lpthread"}, options...)
	out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput() //nolint:gosec // our own source
	if err != nil {
		return "", fmt.Errorf("compile the peer (it needs %s): %w\n%s", needs, err, out)
	}
	return program, nil
}
