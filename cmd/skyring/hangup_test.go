package main

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestServicesOutliveSIGHUP: it changes nothing where there is nothing to read again, which is logged, and SIGTERM drains after it.
func TestServicesOutliveSIGHUP(t *testing.T) {
	nats, redis := backbone(t)
	p := startProcess(t, "processor", "--id", "p1", "--nats", nats, "--redis", redis)
	p.await(t, "processor is ready")

	d := startProcess(t, "dispatcher", "--nats", nats, "--listen", freeUDP(t))
	d.await(t, "dispatcher serves")

	up := startProcess(t, "up", "--listen", "127.0.0.1:0", "--nats-port", "0", "--dir", shortDir(t))
	up.await(t, "  Redis")

	for one, says := range map[*process]string{
		p:  "SIGHUP changes nothing: a processor reads its settings when it starts",
		d:  "SIGHUP changes nothing: no listener speaks DTLS",
		up: "SIGHUP changes nothing: no listener speaks DTLS",
	} {
		if err := one.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}

		one.await(t, says)
	}

	for _, one := range []*process{d, p, up} {
		if err := one.signal(t, syscall.SIGTERM); err != nil {
			t.Errorf("%v ended with %v after SIGTERM", one.cmd.Args, err)
		}
	}
}

// TestRunsEndInOrderOnSIGHUP: what plays for a while on a terminal ends as on SIGTERM when that is closed.
func TestRunsEndInOrderOnSIGHUP(t *testing.T) {
	target, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = target.Close() })

	link := startProcess(t, "link", "--listen", "127.0.0.1:0", "--target", target.LocalAddr().String())
	link.await(t, "link is up")

	if err := link.signal(t, syscall.SIGHUP); err != nil {
		t.Error(err)
	}

	if printed, _ := link.output.snapshot(); !strings.Contains(printed, "clients: 0 seen") {
		t.Errorf("no summary:\n%s", printed)
	}

	stations := startProcess(t, "stations", "--count", "4", "--calls", "1", "--seconds", "600", "--processors", "1")
	stations.await(t, "call: 4 logged on")

	var exit *exec.ExitError
	if err := stations.signal(t, syscall.SIGHUP); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("stations ended with %v", err)
	}

	if printed, _ := stations.output.snapshot(); !strings.Contains(printed, "interrupted: there is no verdict") {
		t.Errorf("it did not end in order:\n%s", printed)
	}
}
