package statestore

import (
	"context"
	"fmt"
)

// maxEpoch keeps the script's arithmetic exact: the largest integer of a float64, in the year 2255.
const maxEpoch = 1<<53 - 1

// Epoch names an association.
type Epoch struct {
	Epoch      uint64 // higher than every one before
	RedisTime  int64  // us
	RolledBack bool   // the server gave the asker's floor once and has forgotten it: it lost writes
}

// Epoch gives a new epoch, higher than all that were given and than floor, the highest one that the asker knows of (0: none). Time is its other
// lower bound, so that epochs grow even when the server lost everything.
func (s *Store) Epoch(ctx context.Context, floor uint64) (Epoch, error) {
	if floor >= maxEpoch {
		return Epoch{}, fmt.Errorf("epoch: floor %d is no epoch", floor)
	}
	calls := []call{{script: newScript(epochSource), keys: []string{s.cfg.Namespace + ":epoch"}, args: []any{floor}}}
	run(ctx, s.client, calls)
	n, err := calls[0].cmd.Int64Slice()
	if err != nil {
		return Epoch{}, fmt.Errorf("epoch: %w", err)
	}
	if len(n) != 3 {
		return Epoch{}, fmt.Errorf("epoch: script gave %d values", len(n))
	}
	return Epoch{Epoch: uint64(n[0]), RedisTime: n[1], RolledBack: uint64(n[2]) < floor}, nil
}

// Time is the server's clock in us since the Unix epoch. Of a cluster or a set of replicas it is one of the servers'.
func (s *Store) Time(ctx context.Context) (int64, error) {
	t, err := s.client.Time(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("read the time: %w", err)
	}
	return t.UnixMicro(), nil
}
