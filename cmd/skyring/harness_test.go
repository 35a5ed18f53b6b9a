package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"skyring/testbed/servers"
)

// limit ends a test that waits for something that never comes.
const limit = 90 * time.Second

// verdict is what --json promises to other programs.
type verdict struct {
	Sent, Acknowledged, Lost, Doubled, OutOfOrder, LedgerDiffers, Sessions uint64
	PPID, Nodes                                                            map[string]uint64
	Latency                                                                struct{ P50, P99, P999 float64 }
	Seconds, MessagesPerSecond                                             float64
	Errors, Differences                                                    []string
}

// runJSON runs skyring in this process and reads the object it prints.
func runJSON(t *testing.T, into any, args ...string) error {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	var stdout, stderr bytes.Buffer

	err := run(ctx, args, &stdout, &stderr)
	if stdout.Len() == 0 {
		t.Fatalf("skyring %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}

	if faulty := json.Unmarshal(stdout.Bytes(), into); faulty != nil {
		t.Fatalf("skyring %s prints no JSON object: %v\n%s", strings.Join(args, " "), faulty, stdout.String())
	}

	return err
}

// want fails unless all messages took effect once, in order, and Redis agrees.
func (v *verdict) want(t *testing.T, err error) {
	t.Helper()

	if err != nil || v.Lost != 0 || v.Doubled != 0 || v.OutOfOrder != 0 || v.LedgerDiffers != 0 || v.Sent == 0 || v.Acknowledged != v.Sent {
		t.Fatalf("verdict: %v: %+v", err, v)
	}
}

// process is a skyring of its own.
type process struct {
	cmd    *exec.Cmd
	output *transcript
	ended  chan error // the result of Wait, once
	err    error      // the same, after the test
}

// transcript keeps what a process printed and tells who waits for a line.
type transcript struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func (o *transcript) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		o.mu.Lock()
		o.text.WriteString(lines.Text() + "\n")
		close(o.changed)
		o.changed = make(chan struct{})
		o.mu.Unlock()
	}
}

func (o *transcript) snapshot() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.text.String(), o.changed
}

// startProcess starts skyring with args as a process that dies with the test.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()

	reader, writer := io.Pipe()
	p := &process{cmd: exec.Command("skyring", args...), ended: make(chan error, 1), output: &transcript{changed: make(chan struct{})}}
	p.cmd.Stdout, p.cmd.Stderr = writer, writer
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start skyring: %v", err)
	}

	var reading sync.WaitGroup

	reading.Go(func() { p.output.read(reader) })

	go func() {
		err := p.cmd.Wait()
		_ = writer.Close()
		reading.Wait()
		p.ended <- err
	}()

	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		p.err = <-p.ended
	})

	return p
}

// await waits until the process has printed text.
func (p *process) await(t *testing.T, text string) string {
	t.Helper()

	timeout := time.NewTimer(limit)
	defer timeout.Stop()

	for {
		printed, changed := p.output.snapshot()
		if strings.Contains(printed, text) {
			return printed
		}

		select {
		case <-changed:
		case err := <-p.ended:
			p.ended <- err

			t.Fatalf("%v ended (%v) without printing %q:\n%s", p.cmd.Args, err, text, printed)
		case <-timeout.C:
			t.Fatalf("%v has not printed %q in %s:\n%s", p.cmd.Args, text, limit, printed)
		}
	}
}

// signal sends a signal and waits for the end of the process.
func (p *process) signal(t *testing.T, s os.Signal) error {
	t.Helper()

	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", p.cmd.Args, err)
	}

	select {
	case err := <-p.ended:
		p.ended <- err

		return err
	case <-time.After(limit):
		printed, _ := p.output.snapshot()
		t.Fatalf("%v has not ended in %s after %v:\n%s", p.cmd.Args, limit, s, printed)

		return nil
	}
}

// backbone starts NATS and Redis for processes and returns their URLs.
func backbone(t *testing.T) (nats, redis string) {
	t.Helper()

	bus, err := servers.StartNATS(t.Context(), servers.NATSConfig{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(bus.Shutdown)

	store, err := servers.StartRedis(t.Context(), servers.DefaultRedisConfig(shortDir(t)))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := store.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	return bus.URL(), store.URL()
}
