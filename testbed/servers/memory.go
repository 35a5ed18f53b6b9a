package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// MemoryWarning is what the operator must be told wherever the stand-in runs.
const MemoryWarning = "redis-server is not installed: state is kept in this process's memory only and is lost when it ends. " +
	"For trials only; install redis-server (Debian: apt install redis-server) to keep sessions."

// memoryTick is how often the stand-in's time to live counts down: it has no
// clock of its own for that, and each step looks at every key.
const memoryTick = time.Second

// MemoryConfig says where the stand-in listens. The zero value is a free port.
type MemoryConfig struct {
	Port int // TCP port on 127.0.0.1, 1..65535; 0: a free one
}

// Memory is a server that speaks Redis and keeps everything in this process. Its
// methods may be called by any goroutine.
type Memory struct {
	// static after StartMemory
	server *miniredis.Miniredis
	cancel context.CancelFunc
	ended  chan struct{} // closed when the clock goroutine has ended
}

// StartMemory starts the stand-in on loopback. It takes scripts and expiry times
// as Redis does, but one command at a time, and keeps nothing when it stops.
func StartMemory(cfg MemoryConfig) (*Memory, error) {
	srv := miniredis.NewMiniRedis()

	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.Port))
	if err := srv.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("start the in-memory store on %s: %w", addr, err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	m := &Memory{server: srv, cancel: cancel, ended: make(chan struct{})}

	go m.clock(ctx)

	return m, nil
}

// URL is what a Redis client connects to.
func (m *Memory) URL() string { return "redis://" + m.server.Addr() }

// Stop disconnects the clients, forgets everything and returns when the server has
// ended. A second call does nothing.
func (m *Memory) Stop() {
	m.cancel()
	<-m.ended
}

// clock makes keys expire by the time that passes, and closes the server in the
// end.
func (m *Memory) clock(ctx context.Context) {
	defer close(m.ended)
	defer m.server.Close()

	ticker := time.NewTicker(memoryTick)
	defer ticker.Stop()

	last := time.Now()

	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			m.server.FastForward(now.Sub(last))
			last = now
		}
	}
}
