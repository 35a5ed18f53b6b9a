package statestore_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/statestore"
	"skyring/testbed/servers"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	locked := startRedis(t)
	if err := client(t, locked.URL()).ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	m := must[*servers.Memory](t)(servers.StartMemory(t.Context(), servers.MemoryConfig{}))
	t.Cleanup(m.Stop)
	path := func(r *servers.Redis) string { return strings.TrimPrefix(r.URL(), "unix://") }

	for name, c := range map[string]struct {
		url, want string
		final     bool // no use to try again
	}{
		"nobody there":            {"redis://127.0.0.1:1", "no Redis server answers at 127.0.0.1:1", false},
		"no socket":               {"unix:///nonexistent/redis.sock", "no Redis server answers at /nonexistent/redis.sock", false},
		"scheme":                  {"http://127.0.0.1:1", "must start with redis://", false},
		"no scheme":               {"127.0.0.1:6379", "must start with redis://", false},
		"database":                {"redis://127.0.0.1:1/x", "must look like redis://", false},
		"empty host":              {"redis://127.0.0.1:1,,127.0.0.1:2", "empty host", false},
		"TLS to plain":            {"rediss://" + echo(t), "does not speak TLS", true},
		"TLS to silence":          {strings.Replace(m.URL(), "redis://", "rediss://", 1), "does not finish a TLS handshake", false},
		"not Redis":               {"redis://" + echo(t), "does not answer as Redis does", false},
		"wrong password":          {"unix://:wrong@" + path(locked), "does not accept the user or password", true},
		"no database":             {"unix://" + path(startRedis(t)) + "?db=99", "has no database 99", true},
		"password in a wrong url": {"http://u:wrong@h", `"http://u:xxxxx@h" must start with`, false},
		"password, no scheme":     {"u:wrong@h", `"xxxxx@h" must start with`, false},
		"no password":             {locked.URL(), "does not accept the user or password", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := statestore.DefaultConfig()
			cfg.URL, cfg.ConnectTimeout = c.url, 300*time.Millisecond
			if c.final {
				cfg.ConnectTimeout = time.Hour
			}
			s, err := statestore.Open(t.Context(), cfg, zerolog.Nop())
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), ":wrong@") {
				t.Error("the error shows the password")
			}
		})
	}
}

// echo listens as something that is no Redis.
func echo(t *testing.T) string {
	t.Helper()
	l := must[net.Listener](t)((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestOpenWaitsForTheServer(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		cfg := statestore.DefaultConfig()
		cfg.URL, cfg.ConnectTimeout = r.URL(), 20*time.Second
		s, err := statestore.Open(t.Context(), cfg, zerolog.Nop())
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestPartitionsAreFixedByTheFirstUser(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		open(t, url)
		cfg := statestore.DefaultConfig()
		cfg.URL, cfg.Partitions = url, 64
		if _, err := statestore.Open(t.Context(), cfg, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "was made with 256") {
			t.Errorf("got %v", err)
		}
		cfg.Namespace = "other"
		s := must[*statestore.Store](t)(statestore.Open(t.Context(), cfg, zerolog.Nop()))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckWarns(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := open(t, r.URL())
	if w := s.Check(t.Context()); len(w) != 0 {
		t.Errorf("a good server is warned of: %q", w)
	}
	c := client(t, r.URL())
	c.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru")
	c.ConfigSet(t.Context(), "appendonly", "no")
	w := s.Check(t.Context())
	if len(w) != 2 || !strings.Contains(string(w[0]), "allkeys-lru") || !strings.Contains(string(w[1]), "append-only") {
		t.Errorf("got %q", w)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	t.Parallel()
	if err := statestore.DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	err := statestore.Config{URL: "x", Namespace: "a b", Partitions: 20000}.Validate()
	for _, key := range []string{"url:", "namespace:", "partitions:", "timeout:", "dialTimeout:", "connectTimeout:"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
}
