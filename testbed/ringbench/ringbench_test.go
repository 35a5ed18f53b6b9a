package ringbench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// modulo is a candidate whose figures are known: keys of equal nodes are as even as chance, and nearly all move.
func modulo() ringbench.Candidate {
	return ringbench.Candidate{Name: "modulo", New: func(nodes []ring.Node) (ringbench.Table, error) {
		owner := func(key string) string {
			sum := uint64(0)
			for _, b := range []byte(key) {
				sum = sum*1099511628211 + uint64(b)
			}

			return nodes[(sum^sum>>32)%uint64(len(nodes))].ID
		}

		return ringbench.Table{
			Owner: owner,
			Loop: func(keys []string) uint64 {
				sum := 0
				for _, key := range keys {
					sum += len(strings.Repeat(owner(key), 8)) // allocates
				}

				return uint64(sum)
			},
		}, nil
	}}
}

func quick() ringbench.Options {
	return ringbench.Options{Candidates: append(ringbench.Ours(), modulo()), Nodes: []int{16}, Rounds: 3, Builds: 1, Lookups: 2000, Keys: 100_000}
}

func TestRun(t *testing.T) {
	o := quick()
	o.Candidates = []ringbench.Candidate{ringbench.Ours()[0], modulo()}
	o.Nodes = []int{16, 64}

	rows, err := ringbench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	var names []string

	for _, r := range rows {
		names = append(names, fmt.Sprint(r.Name, r.Nodes))

		if r.LookupNs <= 0 || r.BuildMs <= 0 || r.MaxMean < 1 || r.MovedRemove < 1 || r.MovedAdd < 1 || r.Rounds != nil {
			t.Errorf("%+v", r)
		}

		switch {
		case r.Name == "modulo":
			// On removal of one of n nodes all but 1/n of the keys move, where 1/n must.
			if r.Weighted1248 != nil || r.MovedRemove < float64(r.Nodes)/2 || r.MaxMean > 1.2 || r.Allocs < 1 {
				t.Errorf("%+v", r)
			}
		case r.Weighted1248 == nil || *r.Weighted1248 < 1 || r.Allocs != 0:
			t.Errorf("%+v", r)
		case r.MaxMean > 1.0003 || *r.Weighted1248 > 1.0003 || r.MovedRemove > 1.3 || r.MovedAdd > 1.3:
			t.Errorf("%+v", r)
		}
	}

	want := []string{"skyring16", "modulo16", "skyring64", "modulo64"}
	if !slices.Equal(names, want) {
		t.Errorf("rows are %v, want %v", names, want)
	}
}

func TestRowsAreOneObjectEach(t *testing.T) {
	o := quick()
	o.Candidates, o.KeepRounds = []ringbench.Candidate{ringbench.Ours()[2], modulo()}, ringbench.AllRounds

	rows, err := ringbench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	line, err := json.Marshal(rows[1])
	if err != nil {
		t.Fatal(err)
	}

	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}

	for _, key := range []string{"name", "nodes", "lookupNs", "allocs", "maxMean", "weighted1248", "movedRemove", "movedAdd", "buildMs"} {
		if _, there := got[key]; !there {
			t.Errorf("%s has no %s", line, key)
		}
	}

	if got := rows[0]; got.Name != "skyring-saturated" || got.Allocs != 0 || got.MaxMean != 1 {
		t.Errorf("%+v", got)
	}

	if got["weighted1248"] != nil || len(rows[1].Rounds) != 3 {
		t.Errorf("%s", line)
	}
}

func TestRunRefuses(t *testing.T) {
	_, err := ringbench.Run(t.Context(), ringbench.Options{Nodes: []int{1}, Rounds: -1})
	if err == nil || !strings.Contains(err.Error(), "nodes: 1") || !strings.Contains(err.Error(), "rounds: -1") {
		t.Errorf("%v", err)
	}

	broken := errors.New("broken")

	_, err = ringbench.Run(t.Context(), ringbench.Options{Candidates: []ringbench.Candidate{{
		Name: "odd", New: func([]ring.Node) (ringbench.Table, error) { return ringbench.Table{}, broken },
	}}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "odd") {
		t.Errorf("%v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err = ringbench.Run(ctx, quick()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestTablesMayChangeInPlace: a candidate that changes in place has the figures of one that is made anew.
func TestTablesMayChangeInPlace(t *testing.T) {
	anew := modulo()
	inPlace := ringbench.Candidate{Name: "in place", New: func(nodes []ring.Node) (ringbench.Table, error) {
		table, err := anew.New(nodes)
		owner := table.Owner
		table.Owner = func(key string) string { return owner(key) }
		table.Change = func(leaves, joins *ring.Node) error {
			if leaves != nil {
				place := slices.Index(nodes, *leaves)
				nodes = slices.Delete(slices.Clone(nodes), place, place+1)
			}

			if joins != nil {
				at, _ := slices.BinarySearchFunc(nodes, *joins, func(a, b ring.Node) int { return number(a) - number(b) })
				nodes = slices.Insert(slices.Clone(nodes), at, *joins)
			}

			changed, err := anew.New(nodes)
			owner = changed.Owner

			return err
		}

		return table, err
	}}
	o := quick()
	o.Candidates = []ringbench.Candidate{anew, inPlace}

	rows, err := ringbench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	if a, b := rows[0], rows[1]; a.MaxMean != b.MaxMean || a.MovedRemove != b.MovedRemove || a.MovedAdd != b.MovedAdd {
		t.Errorf("%+v and %+v", a, b)
	}
}

// number of a node that Run names.
func number(n ring.Node) int {
	out := 0
	for _, digit := range n.ID[strings.LastIndexByte(n.ID, '-')+1:] {
		out = 10*out + int(digit-'0')
	}

	return out
}

// TestRunFindsChangefulCandidates: a table has to place a key alike each time.
func TestRunFindsChangefulCandidates(t *testing.T) {
	calls := uint64(0)
	o := quick()
	o.Candidates = []ringbench.Candidate{{Name: "odd", New: func(nodes []ring.Node) (ringbench.Table, error) {
		return ringbench.Table{
			Owner: func(string) string { return nodes[0].ID },
			Loop:  func([]string) uint64 { calls++; return calls },
		}, nil
	}}}

	if _, err := ringbench.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "odd: the same keys") {
		t.Errorf("%v", err)
	}
}

func TestPrint(t *testing.T) {
	share := 1.25

	var out strings.Builder

	err := ringbench.Print(&out, []ringbench.Row{
		{Name: "skyring", Nodes: 16, LookupNs: 5, MaxMean: 1, Weighted1248: &share},
		{Name: "other", Nodes: 16, LookupNs: 30, Allocs: 2, MaxMean: 1.5},
		{Name: "other", Nodes: 64, LookupNs: 30},
	}, "skyring")
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"x skyring", "1.2500", "6.00", "30.00", "1.5000"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\ndoes not say %s", out.String(), want)
		}
	}
}
