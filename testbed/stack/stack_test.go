package stack_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/dispatcher"
	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/stack"
)

const patience = 30 * time.Second

// What a start that failed or a stop left behind would be found here.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(tb testing.TB) stack.Config {
	tb.Helper()

	cfg := stack.Config{
		Listen:     netip.MustParseAddrPort("127.0.0.1:0"),
		Transport:  transport.DefaultConfig(),
		NATSHost:   "127.0.0.1",
		NATS:       bus.DefaultConfig(),
		Redis:      statestore.DefaultConfig(),
		Dir:        tb.TempDir(),
		Dispatcher: dispatcher.DefaultConfig(),
		Processor:  processor.DefaultConfig(),
		Processors: 2,
	}
	cfg.NATS.URL, cfg.Redis.URL = "", ""
	cfg.Dispatcher.CPUThreshold, cfg.Dispatcher.MemoryThreshold = 0, 0 // all nodes share the machine
	cfg.NATS.ConnectTimeout = time.Second
	cfg.Processor.ID = "p"

	return cfg
}

func start(t *testing.T, cfg stack.Config) (*stack.Stack, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	return stack.Start(ctx, cfg, zerolog.Nop())
}

func TestStartAndStop(t *testing.T) {
	s, err := start(t, config(t))
	if err != nil {
		t.Fatal(err)
	}

	addr := s.Addr()
	if n := len(s.Stats().Nodes); n != 2 || addr.Port() == 0 || s.NATS() == "" || s.Redis() == "" {
		t.Errorf("%d nodes, SCTP at %s, NATS %q, Redis %q", n, addr, s.NATS(), s.Redis())
	}

	if err := s.Stop(); err != nil {
		t.Error(err)
	}

	select {
	case <-s.Done():
	default:
		t.Error("not done after Stop")
	}

	free(t, addr)
}

// free checks that nobody holds a UDP port.
func free(t *testing.T, addr netip.AddrPort) {
	t.Helper()

	link, err := transport.ListenUDP(addr)
	if err != nil {
		t.Fatalf("a port is still held: %v", err)
	}

	if err := link.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailedStarts fails each step of a start in turn. Nothing must be left: neither a goroutine (TestMain) nor the
// private redis-server, whose directory another start can then have, nor the UDP port.
func TestFailedStarts(t *testing.T) {
	taken, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // it was only there to be in the way

	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // on loopback it is immediate
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // as above

	busy, _ := listener.Addr().(*net.TCPAddr)

	dir := t.TempDir()
	listen := reserve(t)

	for name, tt := range map[string]struct {
		change func(*stack.Config)
		want   string
	}{
		"processors":       {func(c *stack.Config) { c.Processors = -1 }, "processors: -1"},
		"NATS port in use": {func(c *stack.Config) { c.NATSPort = busy.Port }, "NATS"},
		"directory that is a file": {func(c *stack.Config) {
			c.Dir = filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(c.Dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "file"},
		"no Redis there":   {func(c *stack.Config) { c.Redis.URL = "redis://127.0.0.1:1" }, "127.0.0.1:1"},
		"no NATS there":    {func(c *stack.Config) { c.NATS.URL = "nats://127.0.0.1:1" }, "127.0.0.1:1"},
		"SCTP port in use": {func(c *stack.Config) { c.Listen = taken.LocalAddr() }, taken.LocalAddr().String()},
		"transport":        {func(c *stack.Config) { c.Transport.Streams = 0 }, "streams"},
		"processor":        {func(c *stack.Config) { c.Processor.ID = "no id at all" }, "id"},
		"dispatcher":       {func(c *stack.Config) { c.Dispatcher.Window = -1 }, "window"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			cfg.Dir, cfg.Listen = dir, listen
			tt.change(&cfg)

			s, err := start(t, cfg)
			if err == nil {
				t.Fatalf("started; stopped with %v", s.Stop())
			}

			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: does not name %q", err, tt.want)
			}

			free(t, listen)
		})
	}

	cfg := config(t)
	cfg.Dir, cfg.Listen = dir, listen

	s, err := start(t, cfg)
	if err != nil {
		t.Fatalf("after the failed starts: %v", err)
	}

	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// reserve finds a UDP port that is free.
func reserve(t *testing.T) netip.AddrPort {
	t.Helper()

	link, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close() //nolint:errcheck // free checks that it is

	return link.LocalAddr()
}

// TestStartInterrupted ends the context of a start before it is through.
func TestStartInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if s, err := stack.Start(ctx, config(t), zerolog.Nop()); err == nil {
		t.Errorf("started; stopped with %v", s.Stop())
	}
}

// TestStopTwice: the second Stop has nothing left to do.
func TestStopTwice(t *testing.T) {
	s, err := start(t, config(t))
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}
