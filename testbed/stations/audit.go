package stations

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"skyring/processor/call"
	"skyring/processor/table"
	"skyring/protocol/key"
	"skyring/statestore"
)

// auditEvery is between two looks at what has not settled yet.
const auditEvery = 200 * time.Millisecond

// recordsBefore is where the call detail records of the run begin in each partition.
func (r *run) recordsBefore(ctx context.Context) (map[int]string, error) {
	if r.site.Store == nil {
		return nil, nil //nolint:nilnil // there is nothing to begin at
	}

	now, err := r.site.Store.Time(ctx)
	if err != nil {
		return nil, err
	}

	before := make(map[int]string, r.site.Store.Partitions())
	id := strconv.FormatInt(now/1000-1, 10) + "-0"

	for i := range r.site.Store.Partitions() {
		before[i] = id
	}

	return before, nil
}

// audit compares what the stations saw with what the state store holds. What has not come
// to what it must be gets a while: a processor that was killed leaves work to others.
func (r *run) audit(ctx context.Context, before map[int]string) error {
	if r.site.Store == nil {
		return nil
	}

	until := time.Now().Add(r.cfg.Settle)

	ticker := time.NewTicker(auditEvery)
	defer ticker.Stop()

	for {
		if err := r.look(ctx, before); err != nil {
			return fmt.Errorf("audit: %w", err)
		}

		settled := r.result.LeakedChannels == 0 && r.result.StuckCalls == 0 && r.result.Lost == 0
		if settled || time.Now().After(until) {
			return nil
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// look takes what the state store holds into the result: what is cheap first, and the rest
// only when that is as it must be or time is over.
func (r *run) look(ctx context.Context, before map[int]string) error {
	var err error
	if r.result.LeakedChannels, err = r.heldChannels(ctx); err != nil {
		return err
	}

	if err := r.countRecords(ctx, before); err != nil {
		return err
	}

	r.result.StuckCalls, err = r.liveCalls(ctx)

	return err
}

// heldChannels counts the channels that calls hold.
func (r *run) heldChannels(ctx context.Context) (held int, err error) {
	pools := table.New(r.site.Store)

	for i := range r.cfg.Beams {
		pool, err := pools.Pool(ctx, r.cfg.stationBeam(i))
		if err != nil {
			return 0, err
		}

		held += len(pool.Held)
	}

	return held, nil
}

// liveCalls counts the records of attempted calls that have not ended.
func (r *run) liveCalls(ctx context.Context) (live int, err error) {
	keys := make([][]byte, 0, len(r.fleet.traffic.attempts))

	for _, a := range r.fleet.traffic.attempts {
		keys = append(keys, a.key())
	}

	for len(keys) > 0 {
		n := min(len(keys), 1000)

		loaded, err := r.site.Store.Load(ctx, keys[:n])
		if err != nil {
			return 0, err
		}

		for _, l := range loaded {
			if isLive(l) {
				live++
			}
		}

		keys = keys[n:]
	}

	return live, nil
}

// isLive tells whether a call's record is there and not a tombstone; one that can not be
// read counts as one.
func isLive(l statestore.Loaded) bool {
	if l.Err != nil {
		return true
	}

	if l.Record == nil {
		return false
	}

	c, err := call.Decode(l.Record.Body)

	return err != nil || c.Live() || len(l.Record.Outbox) > 0
}

// key is the session key of the attempt's call. It is static once the attempt is in the list.
func (a *attempt) key() []byte {
	return key.Call(nil, key.CallID{
		Station: uint64(a.calling.client.Station()), Boot: a.calling.client.Boot(),
		Reference: uint16(a.out.Reference()), Sequence: a.out.Sequence(),
	})
}

// countRecords counts the call detail records of the attempts.
func (r *run) countRecords(ctx context.Context, before map[int]string) error {
	found := make(map[string]int, len(r.fleet.traffic.attempts))
	for _, a := range r.fleet.traffic.attempts {
		found[key.Format(a.key())] = 0
	}

	if err := eachRecord(ctx, r.site.Store, before, func(c call.CDR) {
		if _, ours := found[c.Call]; ours {
			found[c.Call]++
		}
	}); err != nil {
		return err
	}

	r.result.CDRs, r.result.Lost, r.result.Doubled = 0, 0, 0

	for _, n := range found {
		r.result.CDRs += n
		r.result.Doubled += max(n-1, 0)

		if n == 0 {
			r.result.Lost++
		}
	}

	return nil
}

// eachRecord goes through all call detail records after those of before.
func eachRecord(ctx context.Context, store *statestore.Store, before map[int]string, do func(call.CDR)) error {
	from := maps.Clone(before)

	for {
		cdrs, err := store.CDRs(ctx, from, 0)
		if err != nil || len(cdrs) == 0 {
			return err
		}

		for _, c := range cdrs {
			from[c.Partition] = c.ID

			record, err := call.DecodeCDR(c.Payload)
			if err != nil {
				return fmt.Errorf("call detail record %d of partition %d: %w", c.Sequence, c.Partition, err)
			}

			do(record)
		}
	}
}
