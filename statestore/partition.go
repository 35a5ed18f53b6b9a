package statestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Due gives the keys of sessions in some partitions which have a timer that is due at a time (us), the earliest of each partition first, at most
// limit of all. When there are more, it is chance which partitions come first, so that none waits for ever behind another one's. An index may be
// behind its record: the record decides.
func (s *Store) Due(ctx context.Context, partitions []int, now int64, limit int) ([][]byte, error) {
	return s.indexed(ctx, dueIndex, partitions, now, limit)
}

// Pending gives the keys of sessions in some partitions whose outbox was to be looked after before a time (us), otherwise like Due.
func (s *Store) Pending(ctx context.Context, partitions []int, before int64, limit int) ([][]byte, error) {
	return s.indexed(ctx, pendingIndex, partitions, before, limit)
}

func (s *Store) indexed(ctx context.Context, index string, partitions []int, until int64, limit int) ([][]byte, error) {
	if len(partitions) == 0 || limit <= 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	p := s.client.Pipeline()
	cmds := make([]*redis.StringSliceCmd, len(partitions))
	by := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(until, 10), Count: int64(limit)}
	for i, j := range rand.Perm(len(partitions)) {
		cmds[i] = p.ZRangeByScore(ctx, s.partitionKey(partitions[j], index), by)
	}
	_, _ = p.Exec(ctx) // each command holds its own
	var keys [][]byte
	for _, c := range cmds {
		members, err := c.Result()
		if err != nil {
			return nil, fmt.Errorf("read index: %w", err)
		}
		for _, m := range members {
			if len(keys) == limit {
				return keys, nil
			}
			keys = append(keys, []byte(m))
		}
	}
	return keys, nil
}

// Index is one of the two that a partition has.
type Index uint8

// Indexes.
const (
	Timers   Index = iota // what Due reads
	Outboxes              // what Pending reads
)

func (i Index) suffix() string {
	if i == Timers {
		return dueIndex
	}
	return pendingIndex
}

// Postpone lets sessions come up again in an index, where they are listed, at a time (us) and not before, as long as nothing else writes them.
// It does not change their records.
func (s *Store) Postpone(ctx context.Context, index Index, keys [][]byte, until int64) error {
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	p := s.client.Pipeline()
	for _, k := range keys {
		p.ZAddArgs(ctx, s.partitionKey(s.Partition(k), index.suffix()), redis.ZAddArgs{
			XX: true, GT: true, Members: []redis.Z{{Score: float64(until), Member: k}},
		})
	}
	if _, err := p.Exec(ctx); err != nil {
		return fmt.Errorf("postpone sessions: %w", err)
	}
	return nil
}

// Reindex makes the indexes agree with a record (nil: with its absence), and tells whether it is still the stored one; else nothing is done.
// pending is as in Commit.
func (s *Store) Reindex(ctx context.Context, key []byte, r *Record, pending int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var expect []byte
	if r != nil {
		expect = appendStamp(nil, r.Stamp())
	}
	partition := s.Partition(key)
	calls := []call{{
		script: newScript(reindexSource), args: []any{expect, r.Due(), pending, key},
		keys: []string{s.redisKey(key), s.partitionKey(partition, dueIndex), s.partitionKey(partition, pendingIndex)},
	}}
	run(ctx, s.client, calls)
	done, err := calls[0].cmd.Bool()
	if err != nil {
		return false, fmt.Errorf("repair indexes: %w", err)
	}
	return done, nil
}

// Lease takes or renews leases of partitions for an owner, and gives those which the owner has then, until ttl after the call. A lease saves work:
// who acts without one does nothing wrong.
func (s *Store) Lease(ctx context.Context, partitions []int, owner string, ttl time.Duration) (held []int, err error) {
	return s.leases(ctx, s.scripts.lease, partitions, []any{owner, ttl.Milliseconds()})
}

// Release ends leases that the owner has; those of others are left alone.
func (s *Store) Release(ctx context.Context, partitions []int, owner string) error {
	_, err := s.leases(ctx, newScript(releaseSource), partitions, []any{owner})
	return err
}

func (s *Store) leases(ctx context.Context, sc script, partitions []int, args []any) ([]int, error) {
	if len(partitions) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	calls := make([]call, len(partitions))
	for i, p := range partitions {
		calls[i] = call{script: sc, keys: []string{s.partitionKey(p, leaseName)}, args: args}
	}
	run(ctx, s.client, calls)
	var had []int
	var faults error
	for i, c := range calls {
		ok, err := c.cmd.Bool()
		if err != nil {
			faults = errors.Join(faults, err)
		} else if ok {
			had = append(had, partitions[i])
		}
	}
	if faults != nil {
		return had, fmt.Errorf("leases: %w", faults)
	}
	return had, nil
}

// Vacant gives those of some partitions which nobody leases.
func (s *Store) Vacant(ctx context.Context, partitions []int) ([]int, error) {
	names := make([]string, len(partitions))
	for i, p := range partitions {
		names[i] = s.partitionKey(p, leaseName)
	}
	absent, err := s.absent(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("look for leases: %w", err)
	}
	var vacant []int
	for i, none := range absent {
		if none {
			vacant = append(vacant, partitions[i])
		}
	}
	return vacant, nil
}

// Absent tells of each key whether there is no session under it.
func (s *Store) Absent(ctx context.Context, keys [][]byte) ([]bool, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = s.redisKey(k)
	}
	absent, err := s.absent(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("look for sessions: %w", err)
	}
	return absent, nil
}

// absent tells of each name whether the server has nothing under it.
func (s *Store) absent(ctx context.Context, names []string) ([]bool, error) {
	absent := make([]bool, len(names))
	if len(names) == 0 {
		return absent, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	p := s.client.Pipeline()
	cmds := make([]*redis.IntCmd, len(names))
	for i, name := range names {
		cmds[i] = p.Exists(ctx, name)
	}
	if _, err := p.Exec(ctx); err != nil {
		return nil, err //nolint:wrapcheck // by the callers, who know what was looked for
	}
	for i, c := range cmds {
		absent[i] = c.Val() == 0
	}
	return absent, nil
}
