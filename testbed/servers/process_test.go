package servers_test

import (
	"os/exec"
	"strings"
	"testing"

	"skyring/testbed/servers"
)

// startSleep starts a process that would outlast the test.
func startSleep(t *testing.T) *servers.Process {
	t.Helper()

	p, err := servers.StartProcess(exec.CommandContext(t.Context(), "sleep", "600"))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = p.Kill() })

	return p
}

func TestProcessEndsWhenKilled(t *testing.T) {
	p := startSleep(t)

	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}

	<-p.Done()

	if !strings.Contains(p.How(), "killed") {
		t.Errorf("it ended by %q", p.How())
	}

	if err := p.Stop(t.Context(), patience); err != nil {
		t.Errorf("stop what has ended: %v", err)
	}
}

func TestProcessStopsInOrder(t *testing.T) {
	p := startSleep(t)

	if err := p.Stop(t.Context(), patience); err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(p.How(), "terminated") {
		t.Errorf("it ended by %q", p.How())
	}
}

func TestProcessThatIsNoProgram(t *testing.T) {
	if _, err := servers.StartProcess(exec.CommandContext(t.Context(), "/nowhere/skyring")); err == nil {
		t.Error("a program that does not exist started")
	}
}
