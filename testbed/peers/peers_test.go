package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

func someNodes(n int) []ring.Node {
	out := make([]ring.Node, n)
	for i := range out {
		out[i] = ring.Node{ID: fmt.Sprint("node-", string(rune('a'+i))), Capacity: 100}
	}

	return out
}

// TestAdaptersWork: every node is found by some key and nothing else is; a key keeps its node; few keys move when the last node leaves, which
// is the one change that all of these algorithms are consistent under.
func TestAdaptersWork(t *testing.T) {
	const keys, nodes = 20_000, 8

	for _, c := range slices.Concat(peers(), ringbench.Ours()[:2]) { // the third places all keys on one node
		t.Run(c.Name, func(t *testing.T) {
			all := someNodes(nodes)

			table, err := c.New(all)
			if err != nil {
				t.Fatal(err)
			}

			again, err := c.New(all)
			if err != nil {
				t.Fatal(err)
			}

			fewer, err := c.New(all[:nodes-1])
			if err != nil {
				t.Fatal(err)
			}

			changed := again
			if again.Change != nil { // the other way to the same nodes, and back
				if changed, err = c.New(all); err != nil {
					t.Fatal(err)
				}

				if err := errors.Join(changed.Change(&all[nodes-1], nil), again.Change(&all[2], nil), again.Change(nil, &all[2])); err != nil {
					t.Fatal(err)
				}
			}

			counts := map[string]int{}
			moved := 0

			var looked []string

			for i := range keys {
				key := fmt.Sprint("key ", i)
				looked = append(looked, key)
				id := table.Owner(key)
				counts[id]++

				if other := again.Owner(key); other != id {
					t.Fatalf("%s is on %s and on %s", key, id, other)
				}

				if fewer.Owner(key) != id {
					moved++
				}

				if again.Change != nil && changed.Owner(key) != fewer.Owner(key) {
					t.Fatalf("%s is on %s after a change, on %s when made anew", key, changed.Owner(key), fewer.Owner(key))
				}
			}

			for _, n := range all {
				if counts[n.ID] == 0 {
					t.Errorf("no key is on %s: %v", n.ID, counts)
				}
			}

			if len(counts) != nodes {
				t.Errorf("keys are on %v", counts)
			}

			if lost := counts[all[nodes-1].ID]; moved < lost || moved > lost+keys/8 {
				t.Errorf("%d keys move when a node of %d leaves", moved, lost)
			}

			if first := table.Loop(looked); first != again.Loop(looked) || first == table.Loop(looked[:keys/2]) {
				t.Error("what Loop returns does not depend on the keys alone")
			}
		})
	}
}

// TestWeightsArrive at those that say they honour them.
func TestWeightsArrive(t *testing.T) {
	for _, c := range peers() {
		if !c.Weighted {
			continue
		}

		t.Run(c.Name, func(t *testing.T) {
			light, heavy := 0, 0

			nodes := someNodes(16)
			for i := range nodes {
				nodes[i].Capacity = 1000 << (i % 4)
			}

			table, err := c.New(nodes)
			if err != nil {
				t.Fatal(err)
			}

			for i := range 20_000 {
				switch id := table.Owner(fmt.Sprint("key ", i)); (id[len(id)-1] - 'a') % 4 {
				case 0:
					light++
				case 3:
					heavy++
				}
			}

			if heavy < 3*light {
				t.Errorf("nodes of eight times the capacity have %d keys, the others %d", heavy, light)
			}
		})
	}
}

func TestRunWritesRowsAndTable(t *testing.T) {
	var rows, table bytes.Buffer

	err := run(t.Context(), []string{"-nodes", "8", "-rounds", "2", "-builds", "1", "-lookups", "500", "-keys", "5000"}, &rows, &table)
	if err != nil {
		t.Fatal(err)
	}

	var names []string

	for line := range strings.Lines(rows.String()) {
		var row ringbench.Row
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}

		names = append(names, row.Name)

		if row.LookupNs <= 0 || !strings.Contains(table.String(), row.Name) {
			t.Errorf("%+v", row)
		}
	}

	if len(names) != 11 || names[0] != "skyring" {
		t.Errorf("rows of %v", names)
	}

	if err := run(t.Context(), []string{"-nodes", "many"}, &rows, &table); err == nil || !strings.Contains(err.Error(), `"many" is no number`) {
		t.Errorf("%v", err)
	}

	rows.Reset()

	if err := run(t.Context(), []string{"-nodes", "4", "-rounds", "1", "-builds", "1", "-lookups", "9", "-keys", "99", "-only", "go-jump,skyring"}, &rows, &table); err != nil {
		t.Fatal(err)
	}

	if strings.Count(rows.String(), "\n") != 2 || !strings.HasPrefix(rows.String(), `{"name":"go-jump"`) {
		t.Errorf("%s", rows.String())
	}

	if err := run(t.Context(), []string{"-only", "other"}, &rows, &table); err == nil || !strings.Contains(err.Error(), `"other" is no candidate: skyring, `) {
		t.Errorf("%v", err)
	}
}
