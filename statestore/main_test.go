package statestore_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/statestore"
	"skyring/testbed/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startRedis gives a private redis-server that forces every write to disk.
func startRedis(t testing.TB) *servers.Redis {
	t.Helper()
	cfg := servers.DefaultRedisConfig(t.TempDir())
	cfg.AppendFsync = "always"
	r, err := servers.StartRedis(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

// open gives a store on a server that is there.
func open(t testing.TB, url string) *statestore.Store {
	t.Helper()
	cfg := statestore.DefaultConfig()
	cfg.URL = url
	s, err := statestore.Open(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// later is an expiry that no test reaches.
func later() int64 { return time.Now().Add(time.Hour).UnixMicro() }

func must[T any](t testing.TB) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// commitOne runs one commit and gives its outcome.
func commitOne(t testing.TB, s *statestore.Store, c statestore.Commit) statestore.Outcome {
	t.Helper()
	if c.TTL == 0 {
		c.TTL = time.Hour
	}
	if c.Expiry == 0 {
		c.Expiry = later()
	}
	return must[[]statestore.Outcome](t)(s.Commit(t.Context(), []statestore.Commit{c}))[0]
}
