package statestore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skyring/statestore"
	"skyring/testbed/servers"
)

// backends runs a test on a real server and on the stand-in.
func backends(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, startRedis(t).URL())
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		m := must[*servers.Memory](t)(servers.StartMemory(t.Context(), servers.MemoryConfig{}))
		t.Cleanup(m.Stop)
		test(t, m.URL())
	})
}

// client gives a bare connection to look behind the store.
func client(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	c := redis.NewClient(must[*redis.Options](tb)(redis.ParseURL(url)))
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func TestCommitOutcomes(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		key := []byte{2, 0, 255, '\n', '}'}

		first := &statestore.Record{Body: []byte("one")}
		o := commitOne(t, s, statestore.Commit{Key: key, Record: first})
		if o.Result != statestore.Written || first.Version != 1 || o.RedisTime == 0 {
			t.Fatalf("first: %+v, %+v", o, first)
		}
		o = commitOne(t, s, statestore.Commit{Key: key, Record: &statestore.Record{Body: []byte("rival")}})
		if o.Result != statestore.Conflict || string(o.Current.Body) != "one" || o.Current.Stamp() != first.Stamp() {
			t.Fatalf("second creation: %+v", o)
		}
		second := &statestore.Record{Body: []byte("two")}
		o = commitOne(t, s, statestore.Commit{Key: key, Expect: first.Stamp(), Record: second})
		if o.Result != statestore.Written || second.Version != 2 {
			t.Fatalf("update: %+v", o)
		}
		o = commitOne(t, s, statestore.Commit{Key: key, Expect: first.Stamp(), Record: first.Clone()})
		if o.Result != statestore.Conflict || string(o.Current.Body) != "two" {
			t.Fatalf("outdated update: %+v", o)
		}
		o = commitOne(t, s, statestore.Commit{Key: []byte("none"), Expect: first.Stamp(), Record: first.Clone()})
		if o.Result != statestore.Absent {
			t.Fatalf("update of nothing: %+v", o)
		}
		o = commitOne(t, s, statestore.Commit{Key: key, Expect: second.Stamp(), Record: first.Clone(), Expiry: o.RedisTime})
		if o.Result != statestore.Expired || o.RedisTime == 0 {
			t.Fatalf("late: %+v", o)
		}
		loaded := must[[]statestore.Loaded](t)(s.Load(t.Context(), [][]byte{[]byte("none"), key}))
		if loaded[0].Record != nil || string(loaded[1].Record.Body) != "two" {
			t.Fatalf("loaded %+v", loaded)
		}
	})
}

// Redis lost the last writes and another processor went on from what it had: the version is the same again, the content is not.
func TestSameVersionOfAnotherLineIsAConflict(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		key := []byte("k")
		lost := &statestore.Record{Body: []byte("lost")}
		commitOne(t, s, statestore.Commit{Key: key, Record: lost})
		if err := client(t, url).FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		commitOne(t, s, statestore.Commit{Key: key, Record: &statestore.Record{Body: []byte("other")}})
		o := commitOne(t, s, statestore.Commit{Key: key, Expect: lost.Stamp(), Record: &statestore.Record{}})
		if o.Result != statestore.Conflict || o.Current.Version != lost.Version {
			t.Fatalf("%+v", o)
		}
	})
}

func TestRecordIsForgottenAfterItsTTL(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := open(t, r.URL())
	commitOne(t, s, statestore.Commit{Key: []byte("k"), Record: &statestore.Record{}, TTL: 90 * time.Second})
	c := client(t, r.URL())
	keys := must[[]string](t)(c.Keys(t.Context(), "skyring:{*}:s:k").Result())
	if len(keys) != 1 {
		t.Fatalf("keys %q", keys)
	}
	if ttl := must[time.Duration](t)(c.PTTL(t.Context(), keys[0]).Result()); ttl <= 60*time.Second || ttl > 90*time.Second {
		t.Errorf("TTL %v", ttl)
	}
	if err := c.PExpire(t.Context(), keys[0], time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool {
		_, err := s.Session(t.Context(), []byte("k"))
		return errors.Is(err, statestore.ErrAbsent)
	})
}

// wait asks until it is so.
func wait(tb testing.TB, so func() bool) {
	tb.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline.C:
			tb.Fatal("did not happen")
		case <-tick.C:
		}
	}
}

func TestForgottenScriptIsSentAgain(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		c := client(t, url)
		records := make([]*statestore.Record, 40)
		for round := range uint64(20) {
			if err := c.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			commits := make([]statestore.Commit, len(records))
			for i := range commits {
				commits[i] = statestore.Commit{
					Key: fmt.Append(nil, i), Expect: records[i].Stamp(), Record: records[i].Clone(), Expiry: later(), TTL: time.Hour,
				}
			}
			for i, o := range must[[]statestore.Outcome](t)(s.Commit(t.Context(), commits)) {
				if o.Result != statestore.Written || commits[i].Record.Version != round+1 {
					t.Fatalf("round %d, %d: %+v", round, i, o)
				}
				records[i] = commits[i].Record
			}
		}
	})
}

// increment adds one to the counter in a body, as often as it takes.
func increment(t *testing.T, s *statestore.Store, key []byte) {
	t.Helper()
	current := must[[]statestore.Loaded](t)(s.Load(t.Context(), [][]byte{key}))[0].Record
	for {
		next := current.Clone()
		next.Body = binary.BigEndian.AppendUint64(nil, counter(current)+1)
		o := commitOne(t, s, statestore.Commit{Key: key, Expect: current.Stamp(), Record: next})
		if o.Result == statestore.Written {
			return
		}
		if current = o.Current; o.Result != statestore.Conflict {
			t.Errorf("%+v", o)
			return
		}
	}
}

func counter(r *statestore.Record) uint64 {
	if r == nil {
		return 0
	}
	return binary.BigEndian.Uint64(r.Body)
}

func TestRacingWritersLoseNothing(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		const writers, each, keys = 8, 50, 3
		s := open(t, url)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := range each {
					increment(t, s, fmt.Append(nil, "k", (w+i)%keys))
				}
			})
		}
		group.Wait()
		total := uint64(0)
		for i := range keys {
			x := must[statestore.Session](t)(s.Session(t.Context(), fmt.Append(nil, "k", i)))
			if counter(x.Record) != x.Record.Version {
				t.Errorf("key %d: counter %d, version %d", i, counter(x.Record), x.Record.Version)
			}
			total += counter(x.Record)
		}
		if total != writers*each {
			t.Errorf("counted %d, want %d", total, writers*each)
		}
	})
}

// With appendfsync always, what was answered Written survives kill -9; what was Unknown may have been written or not.
func TestNothingAcknowledgedIsLostWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := open(t, r.URL())
	key := []byte("k")
	var acknowledged, attempted uint64
	for range 3 {
		stop := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			defer close(stop)
			wait(t, func() bool {
				o := tryIncrement(t, s, key)
				attempted++
				if o == statestore.Written {
					acknowledged++
				}
				return o == statestore.Unknown
			})
		})
		if err := r.Kill(); err != nil {
			t.Error(err)
		}
		<-stop
		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var x statestore.Session
	wait(t, func() bool {
		var err error
		x, err = s.Session(t.Context(), key)
		return err == nil || errors.Is(err, statestore.ErrAbsent)
	})
	if n := counter(x.Record); n < acknowledged || n > attempted {
		t.Errorf("counter %d, acknowledged %d, attempted %d", n, acknowledged, attempted)
	}
	t.Logf("acknowledged %d of %d", acknowledged, attempted)
}

func tryIncrement(t *testing.T, s *statestore.Store, key []byte) statestore.Result {
	t.Helper()
	loaded, err := s.Load(t.Context(), [][]byte{key})
	if err != nil {
		return statestore.Unknown
	}
	next := loaded[0].Record.Clone()
	next.Body = binary.BigEndian.AppendUint64(nil, counter(loaded[0].Record)+1)
	outcomes, err := s.Commit(t.Context(), []statestore.Commit{
		{Key: key, Expect: loaded[0].Record.Stamp(), Record: next, Expiry: later(), TTL: time.Hour},
	})
	if (err != nil) != (outcomes[0].Result == statestore.Unknown) {
		t.Errorf("error %v with %+v", err, outcomes[0])
	}
	return outcomes[0].Result
}

func TestUnreadableRecordsAreLeftAlone(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		c := client(t, url)
		commitOne(t, s, statestore.Commit{Key: []byte("k"), Record: &statestore.Record{}})
		name := must[[]string](t)(c.Keys(t.Context(), "*:s:k").Result())[0]
		blob := must[[]byte](t)(c.Get(t.Context(), name).Bytes())
		blob[12] = 9
		c.Set(t.Context(), name, blob, 0)

		loaded := must[[]statestore.Loaded](t)(s.Load(t.Context(), [][]byte{[]byte("k"), []byte("l")}))
		if !errors.Is(loaded[0].Err, statestore.ErrFormat) || loaded[1].Err != nil {
			t.Errorf("loaded %+v", loaded)
		}
		if o := commitOne(t, s, statestore.Commit{Key: []byte("k"), Record: &statestore.Record{}}); o.Result != statestore.Unreadable ||
			!errors.Is(o.Err, statestore.ErrFormat) {
			t.Errorf("commit %+v", o)
		}
		if got := must[[]byte](t)(c.Get(t.Context(), name).Bytes()); string(got) != string(blob) {
			t.Error("the newer record was changed")
		}
		c.Del(t.Context(), name)
		c.LPush(t.Context(), name, "x")
		if o := commitOne(t, s, statestore.Commit{Key: []byte("k"), Record: &statestore.Record{}}); o.Result != statestore.Refused {
			t.Errorf("commit on a list: %+v", o)
		}
	})
}

func TestEpochsGrow(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		a := must[statestore.Epoch](t)(s.Epoch(t.Context(), 0))
		b := must[statestore.Epoch](t)(s.Epoch(t.Context(), a.Epoch))
		if a.RolledBack || b.RolledBack || b.Epoch <= a.Epoch || a.Epoch < uint64(a.RedisTime) {
			t.Fatalf("%+v %+v", a, b)
		}
		ahead := must[statestore.Epoch](t)(s.Epoch(t.Context(), b.Epoch+1_000_000_000))
		if !ahead.RolledBack || ahead.Epoch <= b.Epoch+1_000_000_000 {
			t.Errorf("floor over the last: %+v", ahead)
		}
		client(t, url).FlushAll(t.Context())
		after := must[statestore.Epoch](t)(s.Epoch(t.Context(), ahead.Epoch))
		if !after.RolledBack || after.Epoch <= ahead.Epoch {
			t.Errorf("after the loss of everything: %+v", after)
		}
		if _, err := s.Epoch(t.Context(), 1<<60); err == nil {
			t.Error("a floor beyond all epochs was taken")
		}
		offset := must[int64](t)(s.Time(t.Context())) - time.Now().UnixMicro()
		if offset > 60_000_000 || offset < -60_000_000 {
			t.Errorf("time differs by %d us", offset)
		}
	})
}

func TestSessionsListsEachOnce(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		want := map[string]bool{}
		for i := range 1500 {
			key := fmt.Appendf(nil, "%c}:s:%d", 1, i)
			want[string(key)] = true
			commitOne(t, s, statestore.Commit{Key: key, Record: &statestore.Record{}})
		}
		for x, err := range s.Sessions(t.Context()) {
			if err != nil || x.Record == nil || !want[string(x.Key)] {
				t.Fatalf("%q %+v %v", x.Key, x, err)
			}
			delete(want, string(x.Key))
		}
		if len(want) != 0 {
			t.Errorf("%d left out", len(want))
		}
		for _, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
}
