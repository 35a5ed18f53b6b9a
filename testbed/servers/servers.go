// Package servers runs what a dispatcher and its processors need beside them, for
// trials and tests on one machine: NATS inside the process, redis-server as a
// private child, and an in-memory stand-in where no redis-server is installed.
//
//	StartNATS   nats-server in this process, on TCP loopback
//	StartRedis  redis-server, own directory, unix socket, append-only file
//	StartMemory speaks Redis, keeps nothing
//	StartStore  StartRedis when redis-server is installed, else StartMemory
//
// Each Start takes a context that bounds the start alone; the server then runs
// until it is stopped. It listens on this machine only. The package imports
// nothing else of the project.
package servers

import (
	"context"
	"errors"
)

// Store is the state store that StartStore found: exactly one of Redis and Memory
// is set.
type Store struct {
	Redis  *Redis  // a real redis-server
	Memory *Memory // the stand-in
}

// StartStore starts redis-server when one is installed, else the stand-in, whose
// Warning the caller must show.
func StartStore(ctx context.Context, cfg RedisConfig) (*Store, error) {
	redis, err := StartRedis(ctx, cfg)
	if err == nil {
		return &Store{Redis: redis}, nil
	}

	if !errors.Is(err, ErrNoRedisServer) {
		return nil, err
	}

	memory, err := StartMemory(ctx, MemoryConfig{})
	if err != nil {
		return nil, err
	}

	return &Store{Memory: memory}, nil
}

// URL is what a Redis client connects to.
func (s *Store) URL() string {
	if s.Redis != nil {
		return s.Redis.URL()
	}

	return s.Memory.URL()
}

// Warning is what the operator must know of this store, empty for a real one.
func (s *Store) Warning() string {
	if s.Redis != nil {
		return ""
	}

	return MemoryWarning
}

// Stop stops the store, as Redis.Stop and Memory.Stop do.
func (s *Store) Stop(ctx context.Context) error {
	if s.Redis != nil {
		return s.Redis.Stop(ctx)
	}

	s.Memory.Stop()

	return nil
}
