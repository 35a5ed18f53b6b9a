package main

import (
	"bytes"
	"errors"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
)

// TestPortInUse says how to move what wants a port that another program has.
func TestPortInUse(t *testing.T) {
	t.Parallel()

	natsURL, redisURL := backbone(t)

	socket, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = socket.Close() })

	_, natsPort, _ := strings.Cut(strings.TrimPrefix(natsURL, "nats://"), ":")
	taken := socket.LocalAddr().String()

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"dispatcher", "--nats", natsURL, "--listen", taken}, "--listen HOST:PORT"},
		{[]string{"up", "--nats", natsURL, "--redis", redisURL, "--listen", taken}, "--listen HOST:PORT"},
		{[]string{"up", "--dir", filepath.Join(t.TempDir(), "d"), "--redis", redisURL, "--nats-port", natsPort, "--listen", "127.0.0.1:0"}, "--nats-port N"},
	} {
		var stdout, stderr bytes.Buffer

		err := run(t.Context(), tt.args, &stdout, &stderr)
		if exitCode(err) != exitFailed || !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("skyring %q: %v\ndoes not say %q", tt.args, err, tt.want)
		}
	}
}

// TestLogTimes shows milliseconds in either format.
func TestLogTimes(t *testing.T) {
	t.Parallel()

	for format, want := range map[string]string{
		"console": `^\d\d:\d\d:\d\d\.\d{3} INF hello n=1`,
		"json":    `"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)"`,
	} {
		var lines bytes.Buffer

		log := newLogger(LogConfig{Level: "info", Format: format}, &lines)
		log.Debug().Msg("not this")

		for range 20 { // one may fall on a whole second
			log.Info().Int("n", 1).Msg("hello")
		}

		for one := range strings.Lines(strings.TrimSpace(lines.String())) {
			if !regexp.MustCompile(want).MatchString(one) {
				t.Errorf("%s: %s does not match %s", format, one, want)
			}
		}

		if format == "console" && len(regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.000`).FindAllString(lines.String(), -1)) == 20 {
			t.Errorf("all times are whole seconds:\n%s", &lines)
		}
	}
}

// TestDispatcherEnded says how a dispatcher ended, and that it left messages behind.
func TestDispatcherEnded(t *testing.T) {
	t.Parallel()

	for unanswered, want := range map[int]string{0: "", 1: "1 message was left unanswered", 2: "2 messages were left unanswered"} {
		var lines bytes.Buffer

		text := ""
		if err := dispatcherEnded(dispatcher.Stats{Unanswered: unanswered}, zerolog.New(&lines)); err != nil {
			text = err.Error()
		}

		if text != want || !strings.Contains(lines.String(), "dispatcher ended") {
			t.Errorf("error %q, want %q; log %s", text, want, &lines)
		}
	}
}
