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
func startRedis(tb testing.TB) *servers.Redis {
	tb.Helper()
	cfg := servers.DefaultRedisConfig(tb.TempDir())
	cfg.AppendFsync = "always"
	r, err := servers.StartRedis(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// open gives a store on a server that is there.
func open(tb testing.TB, url string) *statestore.Store {
	tb.Helper()
	cfg := statestore.DefaultConfig()
	cfg.URL, cfg.Timeout = url, time.Minute // a busy machine has not failed
	s, err := statestore.Open(tb.Context(), cfg, zerolog.Nop())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// later is an expiry that no test reaches.
func later() int64 { return time.Now().Add(time.Hour).UnixMicro() }

func must[T any](tb testing.TB) func(T, error) T {
	tb.Helper()
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// commitOne runs one commit and gives its outcome.
func commitOne(tb testing.TB, s *statestore.Store, c statestore.Commit) statestore.Outcome {
	tb.Helper()
	if c.TTL == 0 {
		c.TTL = time.Hour
	}
	if c.Expiry == 0 {
		c.Expiry = later()
	}
	return must[[]statestore.Outcome](tb)(s.Commit(tb.Context(), []statestore.Commit{c}))[0]
}
