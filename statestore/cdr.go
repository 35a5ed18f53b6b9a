package statestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	cdrBatch = 256                    // CDRs read of one partition at a time
	cdrPoll  = 100 * time.Millisecond // between two looks for new ones
)

// CDR is one call data record, in the order in which its partition's sessions wrote them.
type CDR struct {
	Partition int
	Sequence  uint64 // 1, 2, 3, ... in the partition: one that is missing was lost
	ID        string // where to go on after it
	Payload   []byte
}

// CDRs reads call data records of all partitions that come after those named by from (partition to ID; none: from the first), at most some hundreds
// of each. When there is none it waits up to block for one (0: not at all). The caller notes the last ID of each partition and asks again.
func (s *Store) CDRs(ctx context.Context, from map[int]string, block time.Duration) ([]CDR, error) {
	end := time.NewTimer(block)
	defer end.Stop()
	tick := time.NewTicker(cdrPoll)
	defer tick.Stop()
	for {
		cdrs, err := s.readCDRs(ctx, from)
		if err != nil || len(cdrs) > 0 || block <= 0 {
			return cdrs, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-end.C:
			return nil, nil
		case <-tick.C:
		}
	}
}

// TrimCDRs forgets the call data records of some partitions that were written before a time (us, Redis time), and tells how many they were. Their
// sequences are not given again.
func (s *Store) TrimCDRs(ctx context.Context, partitions []int, before int64) (trimmed int64, err error) {
	if len(partitions) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	p := s.client.Pipeline()
	cmds := make([]*redis.IntCmd, len(partitions))
	for i, partition := range partitions {
		cmds[i] = p.XTrimMinID(ctx, s.partitionKey(partition, cdrStream), strconv.FormatInt(before/time.Millisecond.Microseconds(), 10))
	}
	if _, err := p.Exec(ctx); err != nil {
		return 0, fmt.Errorf("trim CDRs: %w", err)
	}
	for _, c := range cmds {
		trimmed += c.Val()
	}
	return trimmed, nil
}

func (s *Store) readCDRs(ctx context.Context, from map[int]string) ([]CDR, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	p := s.client.Pipeline()
	cmds := make([]*redis.XMessageSliceCmd, s.cfg.Partitions)
	for i := range cmds {
		start := "-"
		if id := from[i]; id != "" {
			start = "(" + id
		}
		cmds[i] = p.XRangeN(ctx, s.partitionKey(i, cdrStream), start, "+", cdrBatch)
	}
	_, _ = p.Exec(ctx) // each command holds its own
	var cdrs []CDR
	for i, c := range cmds {
		messages, err := c.Result()
		if err != nil {
			return nil, fmt.Errorf("read CDRs of partition %d: %w", i, err)
		}
		for _, m := range messages {
			n, _ := m.Values["n"].(string)
			payload, _ := m.Values["d"].(string)
			sequence, err := strconv.ParseUint(n, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%w: CDR %s of partition %d: sequence: %w", ErrCorrupt, m.ID, i, err)
			}
			cdrs = append(cdrs, CDR{Partition: i, Sequence: sequence, ID: m.ID, Payload: []byte(payload)})
		}
	}
	return cdrs, nil
}

// CDRCount is how far a partition counted, and the newest CDR that it has.
type CDRCount struct {
	Count    uint64 // sequence that was given last; 0: none ever, or the store lost the count
	Sequence uint64 // of the newest one; 0: there is none. Under Count: the newest were lost, or all were trimmed
	ID       string // of the newest one; empty: there is none
}

// CDRCounts tells of each partition how far it counted. Errors are those of CDRs.
func (s *Store) CDRCounts(ctx context.Context) ([]CDRCount, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	p := s.client.Pipeline()
	given, newest := make([]*redis.StringCmd, s.cfg.Partitions), make([]*redis.XMessageSliceCmd, s.cfg.Partitions)
	for i := range given { // the count first: one that is written in between is no gap
		given[i] = p.Get(ctx, s.partitionKey(i, cdrCount))
		newest[i] = p.XRevRangeN(ctx, s.partitionKey(i, cdrStream), "+", "-", 1)
	}
	_, _ = p.Exec(ctx) // each command holds its own
	counts := make([]CDRCount, len(given))
	for i := range counts {
		var err error
		if counts[i], err = cdrCountOf(given[i], newest[i]); err != nil {
			return nil, fmt.Errorf("read the count of CDRs of partition %d: %w", i, err)
		}
	}
	return counts, nil
}

func cdrCountOf(given *redis.StringCmd, newest *redis.XMessageSliceCmd) (c CDRCount, err error) {
	text, err := given.Result()
	if errors.Is(err, redis.Nil) {
		text, err = "0", nil
	}
	if err != nil {
		return c, err //nolint:wrapcheck // by the caller, who knows the partition
	}
	if c.Count, err = strconv.ParseUint(text, 10, 64); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	messages, err := newest.Result()
	if err != nil || len(messages) == 0 {
		return c, err //nolint:wrapcheck // likewise
	}
	n, _ := messages[0].Values["n"].(string)
	c.ID = messages[0].ID
	if c.Sequence, err = strconv.ParseUint(n, 10, 64); err != nil {
		return c, fmt.Errorf("%w: CDR %s: sequence: %w", ErrCorrupt, c.ID, err)
	}
	return c, nil
}
