package statestore_test

import (
	"fmt"
	"testing"

	"skyring/statestore"
)

func TestBusyGrows(t *testing.T) {
	t.Parallel()
	s := open(t, startRedis(t).URL())
	before, err := s.Busy(t.Context())
	if err != nil || before <= 0 {
		t.Fatalf("%v, %v", before, err)
	}
	for tries := 0; ; tries++ {
		for i := range 200 {
			commitOne(t, s, statestore.Commit{Key: fmt.Appendf(nil, "%d/%d", tries, i), Record: &statestore.Record{}})
		}
		after, err := s.Busy(t.Context())
		if err != nil || tries > 200 {
			t.Fatalf("%v, %v", after, err)
		}
		if after > before {
			return
		}
	}
}

// Only what is of the namespace goes, and all of it.
func TestErase(t *testing.T) {
	t.Parallel()
	url := startRedis(t).URL()
	s := open(t, url)
	for i := range 1500 { // more than one step of the listing
		commitOne(t, s, statestore.Commit{Key: fmt.Appendf(nil, "%d", i), Record: &statestore.Record{}})
	}
	if err := s.SetNode(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	must[statestore.Epoch](t)(s.Epoch(t.Context(), 0))
	c := client(t, url)
	for _, other := range []string{"skyring2:{1}:s:x", "other:skyring:x", "skyring"} {
		must[string](t)(c.Set(t.Context(), other, "x", 0).Result())
	}
	if n := must[int64](t)(s.Erase(t.Context())); n < 1500 {
		t.Errorf("%d keys removed", n)
	}
	if keys := must[[]string](t)(c.Keys(t.Context(), "*").Result()); len(keys) != 3 {
		t.Errorf("left: %q", keys)
	}
	if n := must[int64](t)(s.Erase(t.Context())); n != 0 {
		t.Errorf("%d keys removed of nothing", n)
	}
}
