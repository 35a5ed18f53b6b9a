package servers

import "syscall"

// childAttributes make the child end with this process, however that ends, and
// give it a process group of its own: Ctrl-C in the terminal then reaches this
// process alone, which stops the child last.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
