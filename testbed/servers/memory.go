package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
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
	stop   func()        // closes the channel that ends the clock goroutine, once
	ended  chan struct{} // closed when the clock goroutine has ended
}

// StartMemory starts the stand-in on loopback. It takes scripts and expiry times
// as Redis does, but one command at a time, and keeps nothing when it stops.
func StartMemory(ctx context.Context, cfg MemoryConfig) (*Memory, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start the in-memory store: %w", err)
	}

	srv := miniredis.NewMiniRedis()

	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.Port))
	if err := srv.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("start the in-memory store on %s: %w", addr, err)
	}

	stopped := make(chan struct{})
	m := &Memory{
		server: srv,
		stop:   sync.OnceFunc(func() { close(stopped) }),
		ended:  make(chan struct{}),
	}

	go m.clock(stopped)

	return m, nil
}

// URL is what a Redis client connects to.
func (m *Memory) URL() string { return "redis://" + m.server.Addr() }

// Stop disconnects the clients, forgets everything and returns when the server has
// ended. A second call does nothing.
func (m *Memory) Stop() {
	m.stop()
	<-m.ended
}

// clock makes keys expire by the time that passes, and closes the server in the
// end.
func (m *Memory) clock(stopped <-chan struct{}) {
	defer close(m.ended)
	defer m.server.Close()

	ticker := time.NewTicker(memoryTick)
	defer ticker.Stop()

	last := time.Now()

	for {
		select {
		case <-stopped:
			return
		case <-ticker.C:
			now := time.Now()
			m.server.FastForward(now.Sub(last))
			last = now
		}
	}
}
