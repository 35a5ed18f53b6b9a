package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"skyring/statestore"
	"skyring/testbed/shared"
)

// installation is a dispatcher and processors as processes of their own.
type installation struct {
	dispatcher *process
	processors map[string]*process
	target     string
	redis      string
	nats       string
}

// install starts a dispatcher and processors and waits until each is ready.
func install(t *testing.T, processors int) *installation {
	t.Helper()

	nats, redis := backbone(t)
	in := &installation{nats: nats, redis: redis, target: freeUDP(t), processors: map[string]*process{}}

	for i := range processors {
		in.add(t, fmt.Sprintf("p%d", i+1))
	}

	in.dispatcher = startProcess(t, "dispatcher", "--id", "d1", "--nats", nats, "--listen", in.target, "--receipts", "--log-format", "json",
		"--set", "dispatcher.cpuThreshold=0", "--set", "dispatcher.memoryThreshold=0") // all nodes share the machine
	in.dispatcher.await(t, `"message":"dispatcher serves"`)

	return in
}

// add starts one more processor.
func (in *installation) add(t *testing.T, id string) {
	t.Helper()

	p := startProcess(t, "processor", "--id", id, "--nats", in.nats, "--redis", in.redis)
	p.await(t, "processor is ready")
	in.processors[id] = p
}

// replay replays a file into the installation.
func (in *installation) replay(t *testing.T, args ...string) (verdict, error) {
	t.Helper()

	var v verdict

	err := runJSON(t, &v, append([]string{"replay", "--json", "--receipts", "on", "--target", in.target, "--redis", in.redis}, args...)...)

	return v, err
}

// freeUDP is an address nobody listens on at the moment.
func freeUDP(t *testing.T) string {
	t.Helper()

	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := c.LocalAddr().String()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	return address
}

func TestProcessesWorkAsUpDoes(t *testing.T) {
	in := install(t, 3)
	file := filepath.Join(shared.Traces(t), mustReplay[0])

	v, err := in.replay(t, file)
	v.want(t, err)

	if len(v.Nodes) != 3 {
		t.Errorf("nodes that committed: %v, want p1, p2 and p3", v.Nodes)
	}

	for id, p := range in.processors {
		if err := p.signal(t, syscall.SIGTERM); err != nil {
			t.Errorf("processor %s ended with %v after SIGTERM", id, err)
		}
	}

	if err := in.dispatcher.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("dispatcher ended with %v after SIGTERM", err)
	}
}

// TestAKilledProcessorLosesNothing kills a processor while a capture goes through;
// the others go on with its sessions.
func TestAKilledProcessorLosesNothing(t *testing.T) {
	traces := shared.Traces(t)

	for _, name := range mustReplay {
		t.Run(filepath.Base(name), func(t *testing.T) {
			in := install(t, 3)
			file := filepath.Join(traces, name)

			killed := killInTheMiddle(t, in)
			v, err := in.replay(t, "--times", "40", file)
			<-killed
			v.want(t, err)
		})
	}
}

// TestATakeoverLosesNothing kills the only processor and starts another: all sessions
// go on there.
func TestATakeoverLosesNothing(t *testing.T) {
	in := install(t, 1)
	killed := killInTheMiddle(t, in)

	taken := make(chan struct{})
	go func() {
		defer close(taken)
		<-killed
		in.add(t, "p9")
	}()

	v, err := in.replay(t, "--times", "20", filepath.Join(shared.Traces(t), mustReplay[0]))
	<-taken
	v.want(t, err)

	if v.Nodes["p1"] == 0 || v.Nodes["p9"] == 0 {
		t.Errorf("nodes that committed: %v, want both p1 and p9", v.Nodes)
	}
}

// killInTheMiddle kills processor p1 with SIGKILL once it has committed some messages
// of a session, and closes the channel it returns.
func killInTheMiddle(t *testing.T, in *installation) <-chan struct{} {
	t.Helper()

	killed := make(chan struct{})
	victim := in.processors["p1"]

	go func() {
		defer close(killed)
		in.awaitCommits(t, 100)

		if err := victim.cmd.Process.Kill(); err != nil {
			t.Errorf("kill p1: %v", err)
		}
	}()

	return killed
}

// TestASecondSignalForces sends SIGTERM twice to processes that would drain for a minute.
func TestASecondSignalForces(t *testing.T) {
	nats, redis := backbone(t)
	long := []string{"--set", "processor.drainQuiet=60s", "--set", "processor.drainTimeout=60s"}

	for ready, args := range map[string][]string{
		"Redis":              {"up", "--listen", "127.0.0.1:0", "--nats-port", "0", "--dir", shortDir(t)},
		"processor is ready": {"processor", "--id", "p1", "--nats", nats, "--redis", redis},
	} {
		t.Run(args[0], func(t *testing.T) {
			p := startProcess(t, append(args, long...)...)
			p.await(t, ready)

			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}

			p.await(t, "draining")

			var exit *exec.ExitError
			if err := p.signal(t, syscall.SIGTERM); !errors.As(err, &exit) || exit.ExitCode() == 0 {
				t.Errorf("ended with %v after a second signal, want a failure", err)
			}
		})
	}
}

// TestUpDrainsOnSIGTERM ends with success and leaves no redis-server behind.
func TestUpDrainsOnSIGTERM(t *testing.T) {
	dir := shortDir(t)
	up := startProcess(t, "up", "--listen", "127.0.0.1:0", "--nats-port", "0", "--dir", dir)
	printed := up.await(t, "Redis")

	if err := up.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("up ended with %v after SIGTERM:\n%s", err, printed)
	}

	if _, err := os.Stat(filepath.Join(dir, "redis.sock")); err == nil {
		t.Error("the private redis-server's socket is still there")
	}

	again := startProcess(t, "up", "--listen", "127.0.0.1:0", "--nats-port", "0", "--dir", dir)
	if printed := again.await(t, "Redis"); strings.Contains(printed, "error") {
		t.Errorf("up does not start again in the same directory:\n%s", printed)
	}
}

// awaitCommits waits until Redis holds sessions with at least n messages in all.
func (in *installation) awaitCommits(t *testing.T, n uint64) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	cfg := statestore.DefaultConfig()
	cfg.URL, cfg.Namespace, cfg.Timeout = in.redis, "default", limit // a busy machine has not failed

	store, err := statestore.Open(ctx, cfg, zerolog.Nop())
	if err != nil {
		t.Errorf("watch commits: %v", err)

		return
	}

	defer func() { _ = store.Close() }()

	for committed := uint64(0); committed < n; {
		committed = 0

		for s, err := range store.Sessions(ctx) {
			if err != nil {
				t.Errorf("watch commits: %v", err)

				return
			}

			committed += sessionLine(s).Count
		}
	}
}
