package table_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/processor/saga"
	"skyring/processor/table"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
	"skyring/testbed/servers"
)

// open starts a Redis of its own.
func open(t *testing.T) (*table.Table, *statestore.Store) {
	t.Helper()

	dir, err := os.MkdirTemp("", "skyring-") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	redis, err := servers.StartRedis(t.Context(), servers.DefaultRedisConfig(dir))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = redis.Stop(context.Background()) })

	cfg := statestore.DefaultConfig()
	cfg.URL, cfg.Timeout = redis.URL(), time.Minute // a busy machine has not failed

	store, err := statestore.Open(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = store.Close() })

	return table.New(store), store
}

func profile(calls uint8) access.Profile {
	return access.Profile{Key: [access.KeySize]byte{1}, Beams: []protocol.Beam{3}, MaxCalls: calls, MaxPriority: 15}
}

func entries(n int, calls uint8) []table.Entry {
	all := make([]table.Entry, n)
	for i := range all {
		all[i] = table.Entry{ID: protocol.StationID(i + 1), Profile: profile(calls)}
	}

	return all
}

func TestPutAddsAndChanges(t *testing.T) {
	t.Parallel()

	stations, _ := open(t)

	for _, step := range []struct {
		entries []table.Entry
		want    table.Written
	}{
		{entries(1000, 1), table.Written{Added: 1000}},
		{entries(1000, 1), table.Written{Unchanged: 1000}},
		{entries(1200, 2), table.Written{Added: 200, Changed: 1000}},
	} {
		if got, err := stations.Put(t.Context(), step.entries, table.Replace); err != nil || got != step.want {
			t.Fatalf("%+v, %v, want %+v", got, err, step.want)
		}
	}

	n := 0

	for listed, err := range stations.Stations(t.Context()) {
		if err != nil || listed.Station.Profile.MaxCalls != 2 {
			t.Fatalf("station %s: %+v, %v", listed.ID, listed.Station, err)
		}

		n++
	}

	if n != 1200 {
		t.Errorf("%d stations are listed", n)
	}

	if _, err := stations.Put(t.Context(), entries(1, 3), table.Add); !errors.Is(err, table.ErrExists) {
		t.Errorf("adding a station that is there: %v", err)
	}

	bad := append(entries(1, 4), table.Entry{ID: 9000})
	if _, err := stations.Put(t.Context(), bad, table.Replace); err == nil {
		t.Error("a profile without key was written")
	}

	if s, err := stations.Station(t.Context(), 1); err != nil || s.Profile.MaxCalls != 2 {
		t.Errorf("station 1 after a refused write: %+v, %v", s, err)
	}
}

// TestWritesBesideProcessors changes a station again and again while its record is written
// by others: no write of either is lost.
func TestWritesBesideProcessors(t *testing.T) {
	t.Parallel()

	stations, store := open(t)
	if _, err := stations.Put(t.Context(), entries(1, 1), table.Add); err != nil {
		t.Fatal(err)
	}

	const rounds = 200

	var writing sync.WaitGroup

	writing.Go(func() {
		for range rounds {
			heard(t, store)
		}
	})
	writing.Go(func() {
		for n := range rounds {
			if _, err := stations.Bar(t.Context(), 1, n%2 == 0); err != nil {
				t.Error(err)
			}
		}
	})
	writing.Wait()

	s, err := stations.Station(t.Context(), 1)
	if err != nil || s.Sequence != rounds || s.Profile.Barred {
		t.Errorf("%+v, %v: want sequence %d, not barred", s, err, rounds)
	}
}

// heard writes the station's record as a processor would, until its write goes through.
func heard(t *testing.T, store *statestore.Store) {
	t.Helper()

	for {
		session, err := store.Session(t.Context(), key.Station(nil, 1))
		if err != nil {
			t.Error(err)

			return
		}

		s, err := access.Decode(session.Record.Body)
		if err != nil {
			t.Error(err)

			return
		}

		s.Sequence++
		record := session.Record.Clone()
		record.Body = s.Append(nil)

		now, err := store.Time(t.Context())
		if err != nil {
			t.Error(err)

			return
		}

		outcomes, err := store.Commit(t.Context(), []statestore.Commit{{
			Key: session.Key, Expect: session.Record.Stamp(), Record: record, Expiry: now + time.Minute.Microseconds(), Keep: true, Indexed: true,
		}})
		if err != nil {
			t.Error(err)

			return
		}

		if outcomes[0].Result == statestore.Written {
			return
		}
	}
}

// TestBarringArmsTheGateway bars a station that is on: its record gets the timer with which
// the gateway tells it.
func TestBarringArmsTheGateway(t *testing.T) {
	t.Parallel()

	stations, store := open(t)
	if _, err := stations.Put(t.Context(), entries(1, 1), table.Add); err != nil {
		t.Fatal(err)
	}

	changeStation(t, store, func(s *access.Station) { s.State = access.LoggedOn })

	if changed, err := stations.Bar(t.Context(), 1, true); err != nil || !changed {
		t.Fatalf("%t, %v", changed, err)
	}

	session, err := store.Session(t.Context(), key.Station(nil, 1))
	if err != nil {
		t.Fatal(err)
	}

	if timers := session.Record.Timers; len(timers) != 1 || timers[0].Name != access.TimerProfile {
		t.Errorf("timers %+v", timers)
	}

	now, err := store.Time(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if due, err := store.Due(t.Context(), []int{store.Partition(session.Key)}, now, 10); err != nil || len(due) != 1 {
		t.Errorf("due %v, %v", due, err)
	}

	if changed, err := stations.Bar(t.Context(), 1, true); err != nil || changed {
		t.Errorf("barred again: %t, %v", changed, err)
	}

	if _, err := stations.Bar(t.Context(), 77, true); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("barring nobody: %v", err)
	}
}

// changeStation writes station 1 as it is wanted.
func changeStation(t *testing.T, store *statestore.Store, change func(*access.Station)) {
	t.Helper()

	session, err := store.Session(t.Context(), key.Station(nil, 1))
	if err != nil {
		t.Fatal(err)
	}

	s, err := access.Decode(session.Record.Body)
	if err != nil {
		t.Fatal(err)
	}

	change(s)

	record := session.Record.Clone()
	record.Body = s.Append(nil)
	write(t, store, session.Key, session.Record, record)
}

func write(t *testing.T, store *statestore.Store, k []byte, before, record *statestore.Record) {
	t.Helper()

	now, err := store.Time(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	outcomes, err := store.Commit(t.Context(), []statestore.Commit{{
		Key: k, Expect: before.Stamp(), Record: record, Expiry: now + time.Minute.Microseconds(), Keep: true, Indexed: true, Due: record.Due(),
	}})
	if err != nil || outcomes[0].Result != statestore.Written {
		t.Fatalf("%+v, %v", outcomes, err)
	}
}

// TestPoolsKeepWhoHoldsThem shrinks a pool below a channel that a call holds.
func TestPoolsKeepWhoHoldsThem(t *testing.T) {
	t.Parallel()

	stations, store := open(t)

	if created, err := stations.SetPool(t.Context(), 3, 1, 10); err != nil || !created {
		t.Fatalf("%t, %v", created, err)
	}

	session, err := store.Session(t.Context(), key.Pool(nil, 3))
	if err != nil {
		t.Fatal(err)
	}

	pool, err := call.DecodePool(session.Record.Body)
	if err != nil {
		t.Fatal(err)
	}

	pool.Held = append(pool.Held, call.Holding{Channel: 9, Call: []byte("c"), Side: saga.Calling})

	record := session.Record.Clone()
	record.Body = pool.Append(nil)
	write(t, store, session.Key, session.Record, record)

	if created, err := stations.SetPool(t.Context(), 3, 1, 4); err != nil || created {
		t.Fatalf("%t, %v", created, err)
	}

	pool, err = stations.Pool(t.Context(), 3)
	if err != nil || pool.Last != 4 || len(pool.Held) != 1 || pool.Free() != 4 {
		t.Errorf("%+v, %v", pool, err)
	}

	n := 0
	for _, err := range stations.Pools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}

		n++
	}

	if n != 1 {
		t.Errorf("%d pools are listed", n)
	}
}
