package servers_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"skyring/testbed/servers"
)

// parentDir names the directory in which this test program, run again, starts a
// server and waits to be killed.
const parentDir = "SKYRING_TEST_REDIS_PARENT"

func TestRedisDiesWithItsParent(t *testing.T) {
	if dir := os.Getenv(parentDir); dir != "" {
		actAsParent(t, dir)
	}

	dir := shortDir(t)
	ctx := within(t, patience)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestRedisDiesWithItsParent$") //nolint:gosec // this program itself
	cmd.Env = append(os.Environ(), parentDir+"="+dir)

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	line, err := bufio.NewReader(out).ReadString('\n')

	pid, convErr := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, convErr); err != nil {
		t.Fatalf("the parent said %q: %v", line, err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = cmd.Wait() // killed: an error by intent

	awaitEnd(ctx, t, pid)

	// The lock went with both, so that the directory serves again at once.
	startRedis(t, servers.DefaultRedisConfig(dir))
}

// actAsParent starts a server, tells its pid and waits for its own end.
func actAsParent(t *testing.T, dir string) {
	t.Helper()

	r := startRedis(t, servers.DefaultRedisConfig(dir))
	if _, err := os.Stdout.WriteString(strconv.Itoa(r.Pid()) + "\n"); err != nil {
		t.Fatal(err)
	}

	<-t.Context().Done()
}

func awaitEnd(ctx context.Context, t *testing.T, pid int) {
	t.Helper()

	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()

	for {
		if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err != nil || strings.Contains(string(state), ") Z ") {
			return
		}

		select {
		case <-ctx.Done():
			t.Fatal(errors.Join(errors.New("redis-server outlives its parent"), syscall.Kill(pid, syscall.SIGKILL)))
		case <-ticker.C:
		}
	}
}
