package statestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// errCluster says that there is not one server.
var errCluster = errors.New("the Redis Cluster has many servers")

// Busy is the CPU time that the server's main thread, which runs all commands, has used since its start. Not of a cluster.
func (s *Store) Busy(ctx context.Context) (time.Duration, error) {
	if _, many := s.client.(*redis.ClusterClient); many {
		return 0, errCluster
	}
	info, err := s.client.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, fmt.Errorf("read the server's CPU time: %w", err)
	}
	var seconds float64
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_user_main_thread" && name != "used_cpu_sys_main_thread" {
			continue
		}
		part, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("read the server's CPU time: %w", err)
		}
		seconds += part
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// Erase removes every key of the namespace, on every master of a cluster. It is for namespaces that were made for a test of the installation: nothing
// brings back what was there.
func (s *Store) Erase(ctx context.Context) (removed int64, err error) {
	masters, err := s.masters(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range masters {
		n, err := s.eraseFrom(ctx, m)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("erase namespace %s: %w", s.cfg.Namespace, err)
		}
	}
	return removed, nil
}

func (s *Store) eraseFrom(ctx context.Context, server redis.UniversalClient) (removed int64, err error) {
	var cursor uint64
	for {
		names, next, err := server.Scan(ctx, cursor, s.cfg.Namespace+":*", scanCount).Result()
		if err != nil {
			return removed, err
		}
		pipe := server.Pipeline() // one command for each key: they are of many slots
		replies := make([]*redis.IntCmd, len(names))
		for i, name := range names {
			replies[i] = pipe.Unlink(ctx, name)
		}
		if len(names) > 0 {
			if _, err := pipe.Exec(ctx); err != nil {
				return removed, err
			}
		}
		for _, r := range replies {
			removed += r.Val()
		}
		if cursor = next; cursor == 0 {
			return removed, nil
		}
	}
}
