package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Files in the server's directory.
const (
	redisLogFile  = "redis.log"
	redisPidFile  = "redis.pid"
	redisLockFile = "redis.lock"
)

// Redis is a redis-server that belongs to this process: it ends with it. Its
// methods may be called by any goroutine; those that start and stop it wait for
// one another.
type Redis struct {
	// static after StartRedis
	cfg    RedisConfig
	binary string
	dir    string // absolute
	at     redisAddress
	lock   *os.File // held, by the child too, as long as either lives

	mu      sync.Mutex
	current *child // guarded by mu; the last child started, possibly ended
	stopped bool   // guarded by mu; Stop gave the directory back
}

// StartRedis starts redis-server in its own directory and returns when it answers
// PING. The context bounds the start. Where it does not come up the error holds the
// last lines of its log. ErrNoRedisServer: none is installed.
func StartRedis(ctx context.Context, cfg RedisConfig) (*Redis, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}

	binary, err := findRedis(cfg.Binary)
	if err != nil {
		return nil, err
	}

	dir, err := cfg.makeDir()
	if err != nil {
		return nil, err
	}

	at, err := cfg.listenAddress(dir)
	if err != nil {
		return nil, err
	}

	lock, err := lockDir(ctx, dir)
	if err != nil {
		return nil, err
	}

	r := &Redis{cfg: cfg, binary: binary, dir: dir, at: at, lock: lock}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(err, lock.Close())
	}

	return r, nil
}

func findRedis(binary string) (string, error) {
	if binary == "" {
		binary = "redis-server"
	}

	path, err := exec.LookPath(binary)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", ErrNoRedisServer
	}

	if err != nil {
		return "", fmt.Errorf("find redis-server: %w", err)
	}

	return path, nil
}

// URL is what a Redis client connects to; it stays the same over Restart.
func (r *Redis) URL() string { return r.at.url() }

// Pid is the process id of the server, of the last one after it has ended.
func (r *Redis) Pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.current.pid
}

// Done is closed when the server that runs now has ended, for whatever reason.
// After Restart there is another one to ask for.
func (r *Redis) Done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.current.ended
}

// Stop ends the server in order (SIGTERM, so that it writes what it holds) and
// gives its directory back; after StopTimeout, or when ctx ends, it is killed, which
// is an error. A second call does nothing.
func (r *Redis) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.stopped {
		return nil
	}

	r.stopped = true

	return errors.Join(r.current.terminate(ctx, r.cfg.StopTimeout), r.lock.Close())
}

// Kill ends the server at once (SIGKILL), as a crash would, and returns when it is
// gone. Restart starts it again.
func (r *Redis) Kill() error {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.current.kill()
}

// Restart starts the server again on its data, at the same address; one that still
// runs is stopped in order first. The context bounds both.
func (r *Redis) Restart(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.stopped {
		return errors.New("restart redis-server: it was stopped for good")
	}

	if err := r.current.terminate(ctx, r.cfg.StopTimeout); err != nil {
		return fmt.Errorf("restart redis-server: %w", err)
	}

	return r.start(ctx)
}

// start runs a child and waits for its first answer. The caller holds mu or is
// the only one to know r.
func (r *Redis) start(ctx context.Context) error {
	if r.at.answers(ctx) {
		return fmt.Errorf("start redis-server: another server already listens on %s%s", r.at.address, pidIn(r.dir))
	}

	logFile := filepath.Join(r.dir, redisLogFile)

	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of redis-server: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor; nothing is written through this one

	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("open the log of redis-server: %w", err)
	}

	cmd := exec.Command(r.binary, r.cfg.arguments(r.dir, r.at)...) //nolint:noctx // outlives ctx, which bounds the start alone
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, log, log
	cmd.ExtraFiles = []*os.File{r.lock}

	started, err := startChild(cmd)
	if err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}

	if err := r.awaitReady(ctx, started); err != nil {
		return errors.Join(fmt.Errorf("start redis-server (%s): %w%s", r.binary, err, tail(logFile, from)), started.kill())
	}

	r.current = started

	return nil
}

// awaitReady asks until the server answers. Loading its data is progress and does
// not count against ReadyTimeout.
func (r *Redis) awaitReady(ctx context.Context, c *child) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()

	deadline := time.Now().Add(r.cfg.ReadyTimeout)

	for {
		switch r.at.ping(ctx) {
		case pingAnswered:
			return nil
		case pingLoading:
			deadline = time.Now().Add(r.cfg.ReadyTimeout)
		case pingFailed:
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("no answer on %s within %s", r.at.address, r.cfg.ReadyTimeout)
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ended:
			return fmt.Errorf("it ended at once (%s)", c.how)
		case <-ticker.C:
		}
	}
}

// answers says whether somebody listens at this address already.
func (a redisAddress) answers(ctx context.Context) bool {
	conn, err := (&net.Dialer{Timeout: pingTimeout}).DialContext(ctx, a.network, a.address)
	if err != nil {
		return false
	}

	return conn.Close() == nil
}
