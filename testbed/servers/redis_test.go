package servers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"skyring/testbed/servers"
)

const patience = 30 * time.Second

func startRedis(t *testing.T, cfg servers.RedisConfig) *servers.Redis {
	t.Helper()

	r, err := servers.StartRedis(within(t, patience), cfg)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()

		if err := r.Stop(ctx); err != nil {
			t.Error(err)
		}
	})

	return r
}

func TestRedisKeepsDataOverKillAndRestart(t *testing.T) {
	cfg := servers.DefaultRedisConfig(shortDir(t))
	cfg.AppendFsync = "always"
	r := startRedis(t, cfg)

	if !strings.HasPrefix(r.URL(), "unix://") {
		t.Errorf("URL %s, want a unix socket", r.URL())
	}

	ctx := within(t, patience)
	if err := dial(t, r.URL()).Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}

	before, done := r.Pid(), r.Done()
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}

	<-done

	if err := dial(t, r.URL()).Ping(ctx).Err(); err == nil {
		t.Fatal("the killed server answers")
	}

	if err := r.Restart(ctx); err != nil {
		t.Fatal(err)
	}

	if r.Pid() == before {
		t.Errorf("pid %d after the restart, as before", before)
	}

	if v, err := dial(t, r.URL()).Get(ctx, "k").Result(); err != nil || v != "v" {
		t.Errorf("after kill and restart the key holds %q, %v, want v", v, err)
	}

	if err := r.Restart(ctx); err != nil {
		t.Fatalf("restart of a running server: %v", err)
	}

	if v, err := dial(t, r.URL()).Get(ctx, "k").Result(); err != nil || v != "v" {
		t.Errorf("after a restart in order the key holds %q, %v, want v", v, err)
	}
}

func TestRedisStopFreesTheDirectory(t *testing.T) {
	dir := shortDir(t)
	ctx := within(t, patience)

	for range 2 {
		r, err := servers.StartRedis(ctx, servers.DefaultRedisConfig(dir))
		if err != nil {
			t.Fatal(err)
		}

		pid := r.Pid()
		if err := errors.Join(r.Stop(ctx), r.Stop(ctx)); err != nil {
			t.Fatal(err)
		}

		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d after Stop: %v, want none", pid, err)
		}

		if err := r.Restart(ctx); err == nil {
			t.Error("a server stopped for good restarts")
		}
	}
}

func TestRedisDirectoryInUse(t *testing.T) {
	dir := shortDir(t)
	r := startRedis(t, servers.DefaultRedisConfig(dir))

	other := servers.DefaultRedisConfig(dir)
	other.Socket = filepath.Join(dir, "other.sock")

	second, err := servers.StartRedis(within(t, patience), other)
	if err == nil {
		t.Fatal(errors.Join(errors.New("two servers share a directory"), second.Stop(t.Context())))
	}

	for _, want := range []string{"already runs in this directory", dir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}

	elsewhere := servers.DefaultRedisConfig(shortDir(t))
	elsewhere.Socket = strings.TrimPrefix(r.URL(), "unix://")

	third, err := servers.StartRedis(within(t, patience), elsewhere)
	if err == nil {
		t.Fatal(errors.Join(errors.New("two servers share a socket"), third.Stop(t.Context())))
	}

	if !strings.Contains(err.Error(), "already listens on "+elsewhere.Socket) {
		t.Errorf("error %q does not say that the socket is taken", err)
	}
}

func TestRedisLongPathFallsBackToPort(t *testing.T) {
	dir := filepath.Join(shortDir(t), strings.Repeat("long", 30))
	r := startRedis(t, servers.DefaultRedisConfig(dir))

	if !strings.HasPrefix(r.URL(), "redis://127.0.0.1:") {
		t.Errorf("URL %s, want a loopback port", r.URL())
	}

	if err := dial(t, r.URL()).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}

	if log, err := os.ReadFile(filepath.Join(dir, "redis.log")); err != nil || len(log) == 0 {
		t.Errorf("log of %d bytes, %v, want what the server said", len(log), err)
	}
}

func TestRedisFailureShowsItsLog(t *testing.T) {
	dir := shortDir(t)
	broken := filepath.Join(dir, "appendonlydir")

	if err := os.WriteFile(broken, []byte("no directory"), 0o600); err != nil {
		t.Fatal(err)
	}

	r, err := servers.StartRedis(within(t, patience), servers.DefaultRedisConfig(dir))
	if err == nil {
		t.Fatal(errors.Join(errors.New("started without a directory for its data"), r.Stop(t.Context())))
	}

	for _, want := range []string{"ended at once", "redis.log", "appendonlydir"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestRedisRefusesToStart(t *testing.T) {
	tests := map[string]struct {
		edit func(*servers.RedisConfig)
		want string
	}{
		"no directory":    {func(c *servers.RedisConfig) { c.Dir = "" }, "dir:"},
		"long socket":     {func(c *servers.RedisConfig) { c.Socket = "/tmp/" + strings.Repeat("s", 120) }, "at most 107"},
		"port":            {func(c *servers.RedisConfig) { c.Port = 70000 }, "port: 70000"},
		"socket and port": {func(c *servers.RedisConfig) { c.Port, c.Socket = 7777, "/tmp/s" }, "want one"},
		"fsync":           {func(c *servers.RedisConfig) { c.AppendFsync = "sometimes" }, `"sometimes"`},
		"timeouts":        {func(c *servers.RedisConfig) { c.StopTimeout = 0 }, "stopTimeout"},
		"not installed":   {func(c *servers.RedisConfig) { c.Binary = "no-redis-here" }, servers.ErrNoRedisServer.Error()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := servers.DefaultRedisConfig(t.TempDir())
			tt.edit(&cfg)

			r, err := servers.StartRedis(within(t, patience), cfg)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it started"), r.Stop(t.Context())))
			}

			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not say %q", err, tt.want)
			}
		})
	}
}
