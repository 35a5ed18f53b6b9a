package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"skyring/protocol/transport"
)

// childEnv makes the test binary something else than its tests: a process of its own, whose work and memory are not those
// of what is measured.
const childEnv = "SKYRING_TEST_CHILD"

// What a child may be.
const (
	childAttacks   = "attacks"
	childIdles     = "idles"
	childListensIP = "listens-ip"
)

func runChild(what string) error {
	switch what {
	case childAttacks:
		return runAttack(os.Stdin, os.Stdout)
	case childIdles:
		return runIdle(os.Stdin, os.Stdout)
	case childListensIP:
		_, err := transport.ListenIP(loopback().Addr())
		return err
	}
	return fmt.Errorf("%s=%s is no child's name", childEnv, what)
}

// child is such a process. It ends when its input does, which is when the test ends.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startChild starts one; inherited becomes its file 3, unless it is nil.
func startChild(tb testing.TB, what string, inherited *os.File) *child {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	if inherited != nil {
		cmd.ExtraFiles = []*os.File{inherited}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &child{cmd: cmd, in: in, out: bufio.NewReader(out)}
}

// kill ends the child without a word to anybody.
func (c *child) kill(tb testing.TB) {
	tb.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		tb.Fatal(err)
	}
}

func (c *child) say(tb testing.TB, line string) {
	tb.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		tb.Fatal(err)
	}
}

func (c *child) line(tb testing.TB) string {
	tb.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		tb.Fatalf("the child says nothing: %v", err)
	}
	return line
}
