package servers_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"skyring/testbed/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)

	return ctx
}

func TestNATSCarriesAMessage(t *testing.T) {
	n, err := servers.StartNATS(within(t, 10*time.Second), servers.NATSConfig{MaxPayload: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Shutdown()

	conn, err := nats.Connect(n.URL())
	if err != nil {
		t.Fatalf("connect to %s: %v", n.URL(), err)
	}
	defer conn.Close()

	if conn.MaxPayload() != 4096 {
		t.Errorf("the server offers a payload of %d bytes, want 4096", conn.MaxPayload())
	}

	sub, err := conn.SubscribeSync("a")
	if err != nil {
		t.Fatal(err)
	}

	if err := conn.Publish("a", []byte("x")); err != nil {
		t.Fatal(err)
	}

	if _, err := sub.NextMsgWithContext(within(t, 10*time.Second)); err != nil {
		t.Fatalf("no message came: %v", err)
	}
}

func TestNATSPortInUse(t *testing.T) {
	ctx := within(t, 10*time.Second)

	first, err := servers.StartNATS(ctx, servers.NATSConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Shutdown()

	port := portOf(t, strings.TrimPrefix(first.URL(), "nats://"))

	second, err := servers.StartNATS(ctx, servers.NATSConfig{Port: port})
	if err == nil {
		second.Shutdown()
		t.Fatal("two servers listen on one port")
	}

	for _, want := range []string{strconv.Itoa(port), "address already in use"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestNATSStartCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	n, err := servers.StartNATS(ctx, servers.NATSConfig{})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, %v, want a cancelled start", n, err)
	}
}

func TestMemoryKeysExpire(t *testing.T) {
	m, err := servers.StartMemory(t.Context(), servers.MemoryConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Stop()

	client := dial(t, m.URL())
	ctx := within(t, 20*time.Second)

	if err := client.Set(ctx, "k", "v", 100*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}

	awaitGone(ctx, t, client, "k")
	m.Stop()
	m.Stop()
}

func TestMemoryPortInUse(t *testing.T) {
	m, err := servers.StartMemory(t.Context(), servers.MemoryConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Stop()

	port := portOf(t, strings.TrimPrefix(m.URL(), "redis://"))
	if other, err := servers.StartMemory(t.Context(), servers.MemoryConfig{Port: port}); err == nil {
		other.Stop()
		t.Fatal("two stand-ins listen on one port")
	}
}

func TestStoreFallsBackToMemory(t *testing.T) {
	cfg := servers.DefaultRedisConfig(t.TempDir())
	cfg.Binary = filepath.Join(t.TempDir(), "no-redis-here")

	s, err := servers.StartStore(within(t, 10*time.Second), cfg)
	if err != nil {
		t.Fatal(err)
	}

	if s.Memory == nil || s.Warning() != servers.MemoryWarning {
		t.Errorf("store %+v with warning %q, want the stand-in and its warning", s, s.Warning())
	}

	if err := dial(t, s.URL()).Ping(t.Context()).Err(); err != nil {
		t.Errorf("ping the stand-in: %v", err)
	}

	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStorePrefersRedis(t *testing.T) {
	s, err := servers.StartStore(within(t, 20*time.Second), servers.DefaultRedisConfig(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}

	if s.Redis == nil || s.Warning() != "" {
		t.Errorf("store %+v with warning %q, want redis-server", s, s.Warning())
	}

	if err := dial(t, s.URL()).Ping(t.Context()).Err(); err != nil {
		t.Errorf("ping: %v", err)
	}

	if err := s.Stop(within(t, 20*time.Second)); err != nil {
		t.Error(err)
	}
}

// awaitGone waits until the key has expired, asking again after each answer.
func awaitGone(ctx context.Context, t *testing.T, client *redis.Client, key string) {
	t.Helper()

	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()

	for {
		n, err := client.Exists(ctx, key).Result()
		if err != nil {
			t.Fatalf("key %s: %v", key, err)
		}

		if n == 0 {
			return
		}

		<-ticker.C
	}
}

func dial(t *testing.T, url string) *redis.Client {
	t.Helper()

	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("parse %s: %v", url, err)
	}

	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})

	return client
}

func portOf(t *testing.T, hostPort string) int {
	t.Helper()

	_, text, err := net.SplitHostPort(hostPort)
	if err != nil {
		t.Fatal(err)
	}

	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}

	return port
}

// shortDir is a directory whose socket paths fit, which t.TempDir does not promise.
func shortDir(t *testing.T) string {
	t.Helper()

	dir, err := os.MkdirTemp("", "skyring") //nolint:usetesting // t.TempDir puts the test's name in the path, too long for a socket
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})

	return dir
}
