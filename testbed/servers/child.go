package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// child is one process that this one started and watches until its end.
type child struct {
	name    string        // of the program, for errors; static after startChild
	process *os.Process   // static after startChild
	pid     int           // static after startChild
	ended   chan struct{} // closed when the process is gone
	how     string        // how it ended; written before ended is closed
}

// startChild starts the command and a goroutine that watches it.
//
// The goroutine keeps its thread to itself as long as the child lives: the kernel
// sends the child's parent-death signal when the *thread* that started it ends
// (prctl(2), PR_SET_PDEATHSIG), and threads of the runtime may end at any time.
func startChild(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = childAttributes()
	c := &child{name: filepath.Base(cmd.Path), ended: make(chan struct{})}
	started := make(chan error)

	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()

		err := cmd.Start()
		if err == nil {
			c.process, c.pid = cmd.Process, cmd.Process.Pid
		}

		started <- err

		if err != nil {
			return
		}

		_ = cmd.Wait() // how it ended is read from the state
		c.how = cmd.ProcessState.String()
		close(c.ended)
	}()

	if err := <-started; err != nil {
		return nil, err
	}

	return c, nil
}

// terminate asks the child to end and waits for that; after timeout, or when ctx
// ends, it kills it and says so.
func (c *child) terminate(ctx context.Context, timeout time.Duration) error {
	if err := c.signal(syscall.SIGTERM); err != nil {
		return err
	}

	timer := time.NewTimer(timeout)
	defer timer.Stop()

	var reason string

	select {
	case <-c.ended:
		return nil
	case <-timer.C:
		reason = "did not end within " + timeout.String()
	case <-ctx.Done():
		reason = ctx.Err().Error()
	}

	return errors.Join(fmt.Errorf("%s (pid %d) was killed: %s", c.name, c.pid, reason), c.kill())
}

// kill ends the child at once and waits for that.
func (c *child) kill() error {
	if err := c.signal(syscall.SIGKILL); err != nil {
		return err
	}

	<-c.ended

	return nil
}

// signal sends a signal; a child that has ended takes none, which is no error.
func (c *child) signal(s os.Signal) error {
	err := c.process.Signal(s)
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		return nil
	}

	return fmt.Errorf("signal %s (pid %d): %w", c.name, c.pid, err)
}
