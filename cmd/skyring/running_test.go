package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCommandsFindARunningUp calls commands that need Redis or NATS without telling where these are.
func TestCommandsFindARunningUp(t *testing.T) {
	t.Parallel()

	dir := shortDir(t)
	up := startProcess(t, "up", "--listen", "127.0.0.1:0", "--nats-port", "0", "--dir", dir)
	up.await(t, "skyring is up")

	for _, args := range [][]string{
		{"pool", "set", "3", "--channels", "1-2"},
		{"station", "list"},
		{"cdr", "export"},
		{"session", "list"},
		{"status"},
		{"node", "undrain", "p-1"},
	} {
		mustSkyring(t, append(args, "--set", "up.dir="+dir)...)
	}

	if err := up.signal(t, syscall.SIGTERM); err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(filepath.Join(dir, natsFile)); err == nil {
		t.Error("it still says where NATS was")
	}
}

// TestServersThatAreNotThere wants errors that name the flag.
func TestServersThatAreNotThere(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	for _, name := range []string{"redis.sock", natsFile} { // as a killed one leaves them
		if err := os.WriteFile(filepath.Join(dir, name), []byte("nats://127.0.0.1:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if got := runningStore(dir, "else"); got != "else" {
		t.Errorf("a socket without listener: %s", got)
	}

	if got := runningNATS(dir, "else"); got != "else" {
		t.Errorf("a NATS that is gone: %s", got)
	}

	for flag, args := range map[string][]string{
		"--redis URL": {"station", "list", "--redis", "redis://127.0.0.1:1", "--set", "redis.connectTimeout=50ms"},
		"--nats URL":  {"status", "--nats", "nats://127.0.0.1:1", "--timeout", "100ms"},
	} {
		if _, stderr, err := skyring(t, args...); err == nil || !strings.Contains(stderr, flag) {
			t.Errorf("%v: %v: %s", args, err, stderr)
		}
	}
}
