//go:build unix && !linux

package servers

import "syscall"

// childAttributes give the child a process group of its own: Ctrl-C in the terminal
// then reaches this process alone, which stops the child last. These systems have
// no parent-death signal: killed hard, this process leaves the child running.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
