package main

import (
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLinkRelaysUntilTold sends through a link of its own process, whose ways differ, and ends it by SIGTERM: it says what
// became of the packets.
func TestLinkRelaysUntilTold(t *testing.T) {
	t.Parallel()

	target, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = target.Close() })

	p := startProcess(t, "link", "--listen", "127.0.0.1:0", "--target", target.LocalAddr().String(),
		"--delay", "1ms", "--to-target", "duplicate=1", "--to-client", "outage=0s+1h")
	up := regexp.MustCompile(`link is up listen=(\S+)`).FindStringSubmatch(p.await(t, "link is up"))

	if up == nil {
		t.Fatal("it does not say where it listens")
	}

	client, err := net.Dial("udp", up[1]) //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = client.Close() })

	if _, err := client.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}

	b := make([]byte, 100)
	_ = target.SetReadDeadline(time.Now().Add(limit))

	for range 2 {
		n, from, err := target.ReadFrom(b)
		if err != nil || string(b[:n]) != "hello" {
			t.Fatalf("%q, %v", b[:n], err)
		}

		if _, err := target.WriteTo([]byte("back"), from); err != nil {
			t.Fatal(err)
		}
	}

	if err := p.signal(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	printed, _ := p.output.snapshot()
	if !strings.Contains(printed, "to target: 1 received, 2 delivered (1 doubled)") ||
		!strings.Contains(printed, "clients: 1 seen") {
		t.Errorf("the summary is wrong:\n%s", printed)
	}
}
