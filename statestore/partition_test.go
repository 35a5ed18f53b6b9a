package statestore_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"skyring/statestore"
)

// acting is a record with a timer and an entry in its outbox.
func acting(due int64) *statestore.Record {
	return &statestore.Record{
		Line: 1, Generation: 1, Timers: []statestore.Timer{{Name: 1, Generation: 1, Due: due}},
		Outbox: []statestore.Entry{{Destination: []byte("x"), Number: 1, Since: 1, Payload: []byte("y")}},
	}
}

// all are the partitions of a store.
func all(s *statestore.Store) []int {
	var p []int
	for i := range s.Partitions() {
		p = append(p, i)
	}
	return p
}

func listed(tb testing.TB, s *statestore.Store, until int64) (due, pending []string) {
	tb.Helper()
	for _, k := range must[[][]byte](tb)(s.Due(tb.Context(), all(s), until, 100)) {
		due = append(due, string(k))
	}
	for _, k := range must[[][]byte](tb)(s.Pending(tb.Context(), all(s), until, 100)) {
		pending = append(pending, string(k))
	}
	return due, pending
}

func TestIndexesFollowTheRecord(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s, c := open(t, url), client(t, url)
		key := []byte("k\x00\xff")
		first := statestore.Commit{Key: key, Record: acting(500), Keep: true, Indexed: true, Due: 500, Pending: 600}
		if o := commitOne(t, s, first); o.Result != statestore.Written {
			t.Fatalf("%+v", o)
		}
		name := must[[]string](t)(c.Keys(t.Context(), "*:s:*").Result())[0]
		if ttl := must[time.Duration](t)(c.TTL(t.Context(), name).Result()); ttl > 0 {
			t.Errorf("a kept record is forgotten after %v", ttl)
		}
		if due, pending := listed(t, s, 499); len(due)+len(pending) != 0 {
			t.Errorf("too early: %q, %q", due, pending)
		}
		if due, pending := listed(t, s, 600); !slices.Equal(due, []string{string(key)}) || !slices.Equal(pending, []string{string(key)}) {
			t.Errorf("%q, %q", due, pending)
		}
		refused := first
		refused.Record, refused.Due = acting(5), 5
		if o := commitOne(t, s, refused); o.Result != statestore.Conflict {
			t.Fatalf("%+v", o)
		}
		if due, _ := listed(t, s, 499); len(due) != 0 {
			t.Error("a refused commit changed the index")
		}
		if o := commitOne(t, s, statestore.Commit{Key: key, Expect: first.Record.Stamp(), Record: &statestore.Record{}, Indexed: true}); o.Result != statestore.Written {
			t.Fatalf("%+v", o)
		}
		if due, pending := listed(t, s, 1000); len(due)+len(pending) != 0 {
			t.Errorf("still listed: %q, %q", due, pending)
		}
		if ttl := must[time.Duration](t)(c.TTL(t.Context(), name).Result()); ttl <= 0 {
			t.Error("the record has no TTL")
		}
	})
}

func TestIndexesArePostponedAndRepaired(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		key := []byte("k")
		r := acting(500)
		commitOne(t, s, statestore.Commit{Key: key, Record: r, Keep: true, Indexed: true, Due: 500, Pending: 600})
		for _, index := range []statestore.Index{statestore.Timers, statestore.Outboxes} {
			if err := s.Postpone(t.Context(), index, [][]byte{key, []byte("not listed")}, 800); err != nil {
				t.Fatal(err)
			}
			if err := s.Postpone(t.Context(), index, [][]byte{key}, 700); err != nil { // never to an earlier time
				t.Fatal(err)
			}
		}
		if due, pending := listed(t, s, 799); len(due)+len(pending) != 0 {
			t.Errorf("%q, %q", due, pending)
		}
		if due, pending := listed(t, s, 800); len(due) != 1 || len(pending) != 1 {
			t.Errorf("%q, %q", due, pending)
		}
		if done := must[bool](t)(s.Reindex(t.Context(), key, nil, 0)); done {
			t.Error("repaired by a record that is not the stored one")
		}
		if done := must[bool](t)(s.Reindex(t.Context(), key, r, 0)); !done {
			t.Error("not repaired")
		}
		if due, pending := listed(t, s, 500); len(due) != 1 || len(pending) != 0 {
			t.Errorf("%q, %q", due, pending)
		}
	})
}

func TestIndexIsLimited(t *testing.T) {
	t.Parallel()
	s := open(t, startRedis(t).URL())
	for i := range 20 {
		commitOne(t, s, statestore.Commit{Key: fmt.Append(nil, "k", i), Record: acting(5), Keep: true, Indexed: true, Due: 5, Pending: 5})
	}
	if keys := must[[][]byte](t)(s.Due(t.Context(), all(s), 10, 7)); len(keys) != 7 {
		t.Errorf("%d keys", len(keys))
	}
	if keys := must[[][]byte](t)(s.Due(t.Context(), []int{s.Partition([]byte("k3"))}, 10, 100)); !slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == "k3" }) {
		t.Errorf("%q", keys)
	}
}

// Where there is more than can be taken at once, no partition waits behind the others for ever.
func TestNoPartitionIsStarved(t *testing.T) {
	t.Parallel()
	s := open(t, startRedis(t).URL())
	seen := map[string]bool{}
	const sessions = 10
	for i := range sessions {
		commitOne(t, s, statestore.Commit{Key: fmt.Append(nil, "k", i), Record: acting(5), Keep: true, Indexed: true, Due: 5, Pending: 5})
	}
	wait(t, func() bool {
		for _, k := range must[[][]byte](t)(s.Due(t.Context(), all(s), 10, 1)) {
			seen[string(k)] = true
		}
		return len(seen) == sessions
	})
}

func TestLeases(t *testing.T) {
	t.Parallel()
	s := open(t, startRedis(t).URL())
	lease := func(owner string, ttl time.Duration, partitions ...int) []int {
		t.Helper()
		return must[[]int](t)(s.Lease(t.Context(), partitions, owner, ttl))
	}
	if got := lease("a", time.Hour, 1, 2, 3); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("a has %v", got)
	}
	if got := lease("b", time.Hour, 2, 4); !slices.Equal(got, []int{4}) {
		t.Errorf("b has %v", got)
	}
	if got := must[[]int](t)(s.Vacant(t.Context(), []int{0, 1, 4, 5})); !slices.Equal(got, []int{0, 5}) {
		t.Errorf("nobody has %v", got)
	}
	if err := s.Release(t.Context(), []int{1, 2, 4}, "a"); err != nil {
		t.Fatal(err)
	}
	if got := lease("b", time.Millisecond, 1, 2, 3, 4); !slices.Equal(got, []int{1, 2, 4}) {
		t.Errorf("b has %v", got)
	}
	wait(t, func() bool { return slices.Equal(lease("a", time.Hour, 1, 2, 3, 4), []int{1, 2, 3, 4}) })
}

func TestCDRsAreNumberedPerPartition(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		if cdrs := must[[]statestore.CDR](t)(s.CDRs(t.Context(), nil, 0)); len(cdrs) != 0 {
			t.Errorf("%+v", cdrs)
		}
		want := 0
		for i := range 10 {
			commitOne(t, s, statestore.Commit{Key: fmt.Append(nil, "k", i%3), Record: &statestore.Record{}, CDRs: [][]byte{[]byte("x"), fmt.Append(nil, i)}, Expect: stampOf(t, s, i%3)})
			want += 2
		}
		from, sequence := map[int]string{}, map[int]uint64{}
		for got := 0; got < want; {
			cdrs := must[[]statestore.CDR](t)(s.CDRs(t.Context(), from, time.Second))
			if len(cdrs) == 0 {
				t.Fatalf("%d of %d CDRs", got, want)
			}
			for _, c := range cdrs {
				if sequence[c.Partition]++; c.Sequence != sequence[c.Partition] {
					t.Errorf("%+v, want sequence %d", c, sequence[c.Partition])
				}
				if _, err := strconv.Atoi(string(c.Payload)); err != nil && string(c.Payload) != "x" {
					t.Errorf("payload %q", c.Payload)
				}
				from[c.Partition] = c.ID
			}
			got += len(cdrs)
		}
		if cdrs := must[[]statestore.CDR](t)(s.CDRs(t.Context(), from, 50*time.Millisecond)); len(cdrs) != 0 {
			t.Errorf("after the last one: %+v", cdrs)
		}
	})
}

func TestCDRsAreTrimmedByAge(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, url string) {
		t.Helper()
		s := open(t, url)
		write := func(text string) int64 {
			t.Helper()
			key := []byte("k")
			before := must[[]statestore.Loaded](t)(s.Load(t.Context(), [][]byte{key}))[0].Record
			return commitOne(t, s, statestore.Commit{Key: key, Record: &statestore.Record{}, CDRs: [][]byte{[]byte(text)}, Expect: before.Stamp()}).RedisTime
		}
		first := write("old")
		wait(t, func() bool { return must[int64](t)(s.Time(t.Context())) > first+2000 })
		second := write("new")
		if n := must[int64](t)(s.TrimCDRs(t.Context(), all(s), second)); n != 1 {
			t.Errorf("%d trimmed", n)
		}
		if cdrs := must[[]statestore.CDR](t)(s.CDRs(t.Context(), nil, 0)); len(cdrs) != 1 || string(cdrs[0].Payload) != "new" || cdrs[0].Sequence != 2 {
			t.Errorf("%+v", cdrs)
		}
	})
}

func stampOf(tb testing.TB, s *statestore.Store, i int) statestore.Stamp {
	tb.Helper()
	return must[[]statestore.Loaded](tb)(s.Load(tb.Context(), [][]byte{fmt.Append(nil, "k", i)}))[0].Record.Stamp()
}

func TestSecretIsOneForAll(t *testing.T) {
	t.Parallel()
	url := startRedis(t).URL()
	a, b := open(t, url), open(t, url)
	first := must[[32]byte](t)(a.Secret(t.Context()))
	if again := must[[32]byte](t)(b.Secret(t.Context())); again != first || first == [32]byte{} {
		t.Errorf("%x, then %x", first, again)
	}
	c := client(t, url)
	must[string](t)(c.Set(t.Context(), "skyring:secret", "short", 0).Result())
	if _, err := a.Secret(t.Context()); err == nil {
		t.Error("a short secret passed")
	}
}

func TestNodesStayAsDecided(t *testing.T) {
	t.Parallel()
	s := open(t, startRedis(t).URL())
	if n := must[statestore.Node](t)(s.Node(t.Context(), "a")); n.Drained || n.ID != "a" {
		t.Errorf("%+v", n)
	}
	for _, drain := range []bool{true, false} {
		if err := s.SetNode(t.Context(), "a", drain); err != nil {
			t.Fatal(err)
		}
		if n := must[statestore.Node](t)(s.Node(t.Context(), "a")); n.Drained != drain {
			t.Errorf("%+v", n)
		}
	}
	if nodes := must[[]statestore.Node](t)(s.Nodes(t.Context())); len(nodes) != 1 {
		t.Errorf("%+v", nodes)
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	s := open(t, startRedis(t).URL())
	commitOne(t, s, statestore.Commit{Key: []byte("there"), Record: &statestore.Record{}})
	if got := must[[]bool](t)(s.Absent(t.Context(), [][]byte{[]byte("there"), []byte("gone")})); !slices.Equal(got, []bool{false, true}) {
		t.Errorf("%v", got)
	}
}

func TestCDRCounts(t *testing.T) {
	s := open(t, startRedis(t).URL())
	k := []byte("counted")
	for version := range uint64(2) {
		c := statestore.Commit{Key: k, Record: &statestore.Record{}, Expiry: later(), TTL: time.Minute, CDRs: [][]byte{[]byte("one")}}
		if version > 0 {
			c.Expect = must[statestore.Session](t)(s.Session(t.Context(), k)).Record.Stamp()
		}
		if outcomes := must[[]statestore.Outcome](t)(s.Commit(t.Context(), []statestore.Commit{c})); outcomes[0].Result != statestore.Written {
			t.Fatalf("%+v", outcomes)
		}
	}
	cdrs := must[[]statestore.CDR](t)(s.CDRs(t.Context(), nil, 0))
	for i, c := range must[[]statestore.CDRCount](t)(s.CDRCounts(t.Context())) {
		want := statestore.CDRCount{}
		if i == s.Partition(k) {
			want = statestore.CDRCount{Count: 2, Sequence: 2, ID: cdrs[1].ID}
		}
		if c != want {
			t.Errorf("partition %d: %+v, want %+v", i, c, want)
		}
	}
}
