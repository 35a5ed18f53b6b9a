package servers

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// Process is a program that belongs to this process: it ends with it, however that
// ends (on Linux), and takes no Ctrl-C of its own. Its methods may be called by any
// goroutine.
type Process struct {
	child *child // static after StartProcess
}

// StartProcess starts the command, which must not have been started, and watches it.
// The command's context, if it has one, has no effect: the process runs until it
// ends by itself or by Stop or Kill.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	started, err := startChild(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}

	return &Process{child: started}, nil
}

// Pid is the process id.
func (p *Process) Pid() int { return p.child.pid }

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.child.ended }

// How says how the process ended, such as "exit status 1"; call it after Done.
func (p *Process) How() string { return p.child.how }

// Stop asks the process to end (SIGTERM) and waits for that; after timeout, or when
// ctx ends, it is killed, which is an error. One that has ended is left alone.
func (p *Process) Stop(ctx context.Context, timeout time.Duration) error {
	return p.child.terminate(ctx, timeout)
}

// Kill ends the process at once (SIGKILL) and returns when it is gone.
func (p *Process) Kill() error { return p.child.kill() }
