package statestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/zeebo/xxh3"
)

// ErrAbsent says that there is no session under a key.
var ErrAbsent = errors.New("no such session")

// scanCount is how many keys one step of a listing looks at.
const scanCount = 512

// Session is a record with its key. A record that can not be read is nil, with Err.
type Session struct {
	Key    []byte
	Record *Record
	Err    error // ErrFormat or ErrCorrupt
}

// Session reads one session; ErrAbsent when there is none.
func (s *Store) Session(ctx context.Context, key []byte) (Session, error) {
	loaded, err := s.Load(ctx, [][]byte{key})
	if err != nil {
		return Session{}, err
	}
	if loaded[0].Record == nil && loaded[0].Err == nil {
		return Session{}, ErrAbsent
	}
	return Session{Key: key, Record: loaded[0].Record, Err: loaded[0].Err}, nil
}

// Sessions goes through all sessions of the namespace, on every master of a cluster, in no order, each once. One that is made or ends meanwhile
// may be left out. An error ends it. Memory: 16 bytes a session.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		masters, err := s.masters(ctx)
		if err != nil {
			yield(Session{}, err)
			return
		}
		l := listing{store: s, seen: map[xxh3.Uint128]struct{}{}, yield: yield}
		for _, m := range masters {
			if more, err := l.scan(ctx, m); err != nil {
				yield(Session{}, err)
				return
			} else if !more {
				return
			}
		}
	}
}

// masters are the servers that hold keys.
func (s *Store) masters(ctx context.Context) ([]redis.UniversalClient, error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return []redis.UniversalClient{s.client}, nil
	}
	var mu sync.Mutex
	var masters []redis.UniversalClient
	err := cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the masters of the cluster: %w", err)
	}
	return masters, nil
}

// listing is one walk over the sessions; SCAN may show a key twice.
type listing struct {
	store *Store
	seen  map[xxh3.Uint128]struct{}
	yield func(Session, error) bool
}

func (l *listing) scan(ctx context.Context, server redis.UniversalClient) (more bool, err error) {
	var cursor uint64
	for {
		names, next, err := server.Scan(ctx, cursor, l.store.cfg.Namespace+":{*}:s:*", scanCount).Result()
		if err != nil {
			return false, fmt.Errorf("list sessions: %w", err)
		}
		if more, err := l.page(ctx, names); err != nil || !more {
			return more, err
		}
		if cursor = next; cursor == 0 {
			return true, nil
		}
	}
}

func (l *listing) page(ctx context.Context, names []string) (more bool, err error) {
	keys := make([][]byte, 0, len(names))
	for _, n := range names {
		_, key, found := strings.Cut(n, "}:s:")
		h := xxh3.HashString128(key)
		if _, dup := l.seen[h]; dup || !found {
			continue
		}
		l.seen[h] = struct{}{}
		keys = append(keys, []byte(key))
	}
	loaded, err := l.store.Load(ctx, keys)
	if err != nil {
		return false, err
	}
	for i, r := range loaded {
		if r.Record == nil && r.Err == nil {
			continue
		}
		if !l.yield(Session{Key: keys[i], Record: r.Record, Err: r.Err}, nil) {
			return false, nil
		}
	}
	return true, nil
}
