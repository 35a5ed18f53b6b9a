package statestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Loaded is the answer to one key of Load.
type Loaded struct {
	Record *Record // nil: absent, or Err says why it can not be read
	Err    error   // ErrFormat or ErrCorrupt
}

// Load reads records, in the order of the keys, in one pipeline. An error means that the server did not answer for all of them; a record that can
// not be read is that key's own error.
func (s *Store) Load(ctx context.Context, keys [][]byte) ([]Loaded, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	p := s.client.Pipeline()
	cmds := make([]*redis.StringCmd, len(keys))
	for i, k := range keys {
		cmds[i] = p.Get(ctx, s.redisKey(k))
	}
	_, _ = p.Exec(ctx) // each command holds its own
	loaded := make([]Loaded, len(keys))
	for i, c := range cmds {
		b, err := c.Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("load sessions: %w", err)
		}
		loaded[i].Record, loaded[i].Err = Decode(b)
	}
	return loaded, nil
}
