package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/processor"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/generate"
	"skyring/testbed/replay"
	"skyring/testbed/servers"
	"skyring/testbed/trace"
)

// stack is the whole way of a message: NATS, Redis, a dispatcher that gives receipts;
// processors are added by the test.
type stack struct {
	t     *testing.T
	nats  *servers.NATS
	redis *servers.Redis
	store *statestore.Store // the test's own
	addr  netip.AddrPort
}

func startStack(t *testing.T) *stack {
	t.Helper()

	n, err := servers.StartNATS(t.Context(), servers.NATSConfig{})
	if err != nil {
		t.Fatal(err)
	}

	s := &stack{t: t, nats: n}
	t.Cleanup(func() { s.nats.Shutdown() })

	s.redis, s.store = startStore(t)
	s.serve()

	return s
}

// restartNATS ends the server and starts another one at the same address.
func (s *stack) restartNATS() {
	s.nats.Shutdown()

	at, err := url.Parse(s.nats.URL())
	if err != nil {
		s.t.Error(err)

		return
	}

	port, err := strconv.Atoi(at.Port())
	if err != nil {
		s.t.Error(err)

		return
	}

	n, err := servers.StartNATS(s.t.Context(), servers.NATSConfig{Port: port})
	if err != nil {
		s.t.Error(err)

		return
	}

	s.nats = n
}

// serve runs the dispatcher until the test ends.
func (s *stack) serve() {
	s.t.Helper()

	link, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		s.t.Fatal(err)
	}

	endpoint, err := transport.New(link, steady(), zerolog.Nop())
	if err != nil {
		s.t.Fatal(err)
	}

	conn, err := connect(s.t.Context(), s.nats.URL(), "dispatcher")
	if err != nil {
		s.t.Fatal(err)
	}

	cfg := dispatcher.DefaultConfig()
	cfg.Receipts, cfg.Heartbeat = true, 100*time.Millisecond
	cfg.CPUThreshold, cfg.MemoryThreshold = 0, 0 // all nodes share the machine

	d, err := dispatcher.New(cfg, endpoint, conn, zerolog.Nop())
	if err != nil {
		s.t.Fatal(err)
	}

	s.addr = link.LocalAddr()
	transporting, stopTransport := context.WithCancel(context.Background())
	dispatching, stopDispatcher := context.WithCancel(context.Background())

	var transportEnd, dispatcherEnd sync.WaitGroup

	transportEnd.Go(func() {
		if err := endpoint.Run(transporting); err != nil {
			s.t.Errorf("transport: %v", err)
		}
	})
	dispatcherEnd.Go(func() {
		if err := d.Run(dispatching); err != nil {
			s.t.Errorf("dispatcher: %v", err)
		}
	})
	s.t.Cleanup(func() {
		stopDispatcher()
		dispatcherEnd.Wait()
		stopTransport()
		transportEnd.Wait()
		conn.Close()
	})
}

func connect(ctx context.Context, url, name string) (*bus.Conn, error) {
	cfg := bus.DefaultConfig()
	cfg.URL = url

	conn, err := bus.Connect(ctx, cfg, name, zerolog.Nop())
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}

	return conn, nil
}

// node runs a processor in this process until the test ends.
func (s *stack) node(id string) {
	s.t.Helper()

	ctx, cancel := context.WithCancel(context.Background())

	var running sync.WaitGroup

	running.Go(func() {
		if err := runProcessor(ctx, id, s.nats.URL(), s.redis.URL()); err != nil {
			s.t.Errorf("processor %s: %v", id, err)
		}
	})
	s.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// runProcessor runs a processor until ctx ends.
func runProcessor(ctx context.Context, id, natsURL, redisURL string) error {
	conn, err := connect(ctx, natsURL, id)
	if err != nil {
		return err
	}
	defer conn.Close()

	storeCfg := statestore.DefaultConfig()
	storeCfg.URL, storeCfg.Timeout = redisURL, patience // a busy machine has not failed

	store, err := statestore.Open(ctx, storeCfg, zerolog.Nop())
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer store.Close() //nolint:errcheck // the test looks at what is in it

	cfg := processor.DefaultConfig()
	cfg.ID, cfg.Heartbeat, cfg.DrainQuiet = id, 100*time.Millisecond, 50*time.Millisecond

	p, err := processor.New(cfg, store, conn, processor.NewHandlers(ledger.Handler{}), zerolog.Nop())
	if err != nil {
		return fmt.Errorf("make the processor: %w", err)
	}

	return p.Run(ctx)
}

// Names under which this test program, run again, learns that it is a processor.
const (
	childID    = "SKYRING_TEST_NODE"
	childNATS  = "SKYRING_TEST_NATS"
	childRedis = "SKYRING_TEST_REDIS"
)

// child runs a processor in a process of its own.
func (s *stack) child(id string) *exec.Cmd {
	s.t.Helper()

	cmd := exec.Command(os.Args[0], "-test.run=^TestChildProcessor$") //nolint:gosec,noctx // this program itself; ended below
	cmd.Env = append(os.Environ(), childID+"="+id, childNATS+"="+s.nats.URL(), childRedis+"="+s.redis.URL())

	var said bytes.Buffer

	cmd.Stdout, cmd.Stderr = &said, &said

	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}

	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()

		if s.t.Failed() {
			s.t.Logf("processor %s said: %s", id, said.String())
		}
	})

	return cmd
}

// TestChildProcessor is no test but the processor that stack.child starts.
func TestChildProcessor(t *testing.T) {
	id := os.Getenv(childID)
	if id == "" {
		t.Skip("runs as a child of other tests only")
	}

	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()

	if err := runProcessor(ctx, id, os.Getenv(childNATS), os.Getenv(childRedis)); err != nil {
		t.Fatal(err)
	}
}

// generated is a seeded capture of all protocols.
func generated(t *testing.T, messages int) *trace.Trace {
	t.Helper()

	cfg := generate.DefaultConfig()
	cfg.Messages = messages

	var file bytes.Buffer
	if _, err := generate.Write(&file, cfg); err != nil {
		t.Fatal(err)
	}

	tr, err := trace.Read(t.Context(), &file, "generated.pcapng", trace.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}

	return tr
}

// steady takes no busy machine for a failed path.
func steady() transport.Config {
	cfg := transport.DefaultConfig()
	cfg.MaxMissedHeartbeats = 100

	return cfg
}

// patient is config for a stack where processors may be away for a while.
func patient(to netip.AddrPort) replay.Config {
	cfg := config(to)
	cfg.IdleTimeout = 30 * time.Second
	cfg.Transport = steady()

	return cfg
}

func TestWholeStack(t *testing.T) {
	s := startStack(t)
	for _, id := range []string{"p1", "p2", "p3"} {
		s.node(id)
	}

	t.Run("generated", func(t *testing.T) {
		tr := generated(t, 2000)

		v := run(t, patient(s.addr), s.store, tr)
		if !v.OK() || v.Sent != uint64(len(tr.Messages)) || !v.Receipts || !v.Ledger {
			t.Errorf("want all of %d acknowledged, got %+v", len(tr.Messages), v)
		}

		if len(v.Nodes) != 3 {
			t.Errorf("nodes %v, want three", v.Nodes)
		}
	})
	t.Run("captures", func(t *testing.T) { replayCaptures(t, patient(s.addr), s.store) })
	t.Run("all captures at once", func(t *testing.T) {
		var traces []*trace.Trace

		for _, path := range files(t) {
			if _, known := captures()[filepath.Base(path)]; !known {
				continue
			}

			tr, err := trace.Open(t.Context(), path, trace.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}

			traces = append(traces, tr)
		}

		cfg := patient(s.addr)
		cfg.Times = 2

		if v := run(t, cfg, s.store, traces...); !v.OK() {
			t.Errorf("want a good verdict, got %+v", v)
		}
	})
}
