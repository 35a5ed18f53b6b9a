package bus_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/protocol/bus"
)

const patience = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startServer(t *testing.T, port int) *server.Server {
	t.Helper()

	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}

	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })

	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}

	return s
}

func connect(t *testing.T, s *server.Server) *bus.Conn {
	t.Helper()

	cfg := bus.DefaultConfig()
	cfg.URL = s.ClientURL()
	cfg.ReconnectWait = 10 * time.Millisecond

	c, err := bus.Connect(t.Context(), cfg, t.Name(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Close)

	return c
}

func receive[T any](t *testing.T, c <-chan T) T { //nolint:ireturn // T is what the channel carries
	t.Helper()

	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")

		panic("unreachable")
	}
}

func flush(t *testing.T, c *bus.Conn) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyListeningIsReportedWithTheSubject(t *testing.T) {
	c := connect(t, startServer(t, server.RANDOM_PORT))
	got := make(chan bus.Message, 1)

	if _, err := c.Subscribe("answers", func(m bus.Message) { got <- m }); err != nil {
		t.Fatal(err)
	}

	if err := c.Publish("skyring.ns.node.gone", "answers", []byte("frame")); err != nil {
		t.Fatal(err)
	}

	if m := receive(t, got); !m.NoResponders || m.For != "skyring.ns.node.gone" {
		t.Fatalf("%+v", m)
	}
}

func TestMessagesReachAnotherConnectionAndBack(t *testing.T) {
	s := startServer(t, server.RANDOM_PORT)
	a, b := connect(t, s), connect(t, s)

	sub, err := b.Subscribe("ask", func(m bus.Message) {
		if err := b.Publish(m.Reply, "", append([]byte("re: "), m.Data...)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	flush(t, b)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	if got, err := a.Request(ctx, "ask", []byte("x")); err != nil || string(got) != "re: x" {
		t.Fatalf("%q, %v", got, err)
	}

	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}

	flush(t, b)

	if _, err := a.Request(ctx, "ask", []byte("x")); err == nil {
		t.Fatal("answered without a subscriber")
	}

	if a.MaxPayload() != server.MAX_PAYLOAD_SIZE {
		t.Errorf("max payload %d", a.MaxPayload())
	}

	if err := a.Drain(ctx); err != nil {
		t.Error(err)
	}

	if err := a.Drain(ctx); err != nil {
		t.Error(err)
	}
}

func TestLostServerIsReportedAndFoundAgain(t *testing.T) {
	s := startServer(t, server.RANDOM_PORT)
	c := connect(t, s)
	down, up, got := make(chan error, 1), make(chan struct{}, 1), make(chan bus.Message, 1)

	c.OnDisconnect(func(err error) { down <- err })
	c.OnReconnect(func() { up <- struct{}{} })

	if _, err := c.Subscribe("answers", func(m bus.Message) { got <- m }); err != nil {
		t.Fatal(err)
	}

	port := s.Addr().(*net.TCPAddr).Port

	s.Shutdown()
	s.WaitForShutdown()
	_ = receive(t, down)

	if c.Connected() {
		t.Error("connected to a server that is down")
	}

	if err := c.Publish("x", "", nil); err == nil {
		t.Error("published without a server")
	}

	startServer(t, port)
	receive(t, up)

	if err := c.Publish("nobody", "answers", nil); err != nil {
		t.Fatal(err)
	}

	if m := receive(t, got); m.For != "nobody" {
		t.Errorf("%+v", m)
	}

	if st := c.Stats(); st.Disconnects != 1 || st.Reconnects != 1 {
		t.Errorf("%+v", st)
	}
}

func TestMissingServerIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	free := "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)

	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	cfg := bus.DefaultConfig()
	cfg.URL = "nats://user:secret@" + free
	cfg.ConnectTimeout = 50 * time.Millisecond

	_, err = bus.Connect(t.Context(), cfg, "test", zerolog.Nop())
	if err == nil || !strings.Contains(err.Error(), "no NATS server answers at nats://user:xxxxx@"+free) {
		t.Errorf("%v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	cfg.ConnectTimeout = patience
	if _, err := bus.Connect(ctx, cfg, "test", zerolog.Nop()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestAnotherServiceAtTheURL says that who answers is no NATS server.
func TestAnotherServiceAtTheURL(t *testing.T) {
	for name, tt := range map[string]struct {
		says, want string
		ends       bool
	}{
		"banner": {"SSH-2.0-OpenSSH_9.7\r\n", "is no NATS server", false},
		"closes": {"", "does not answer as a NATS server does", true},
		"silent": {"", "does not answer as a NATS server does", false},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}

			var serving sync.WaitGroup

			serving.Go(func() { serve(l, tt.says, tt.ends) })
			t.Cleanup(serving.Wait)
			t.Cleanup(func() { _ = l.Close() })

			cfg := bus.DefaultConfig()
			cfg.URL = "nats://user:secret@" + l.Addr().String()
			cfg.ConnectTimeout = 200 * time.Millisecond

			_, err = bus.Connect(t.Context(), cfg, "test", zerolog.Nop())
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		})
	}
}

// serve takes connections, says the same to each, and ends it or waits for its peer to do so.
func serve(l net.Listener, says string, ends bool) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}

		_, _ = io.WriteString(c, says)

		if !ends {
			_, _ = io.Copy(io.Discard, c)
		}

		_ = c.Close()
	}
}

func TestConfigNamesEachFault(t *testing.T) {
	if err := bus.DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}

	err := bus.Config{URL: "http://u:secret@x"}.Validate()
	for _, key := range []string{"url", "connectTimeout", "reconnectWait", "pingInterval", "pendingMessages", "pendingBytes"} {
		if err == nil || !strings.Contains(err.Error(), key+":") {
			t.Errorf("%s is not named: %v", key, err)
		}
	}

	if strings.Contains(err.Error(), "secret") {
		t.Errorf("a password shows: %v", err)
	}
}
