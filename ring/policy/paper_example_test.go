package policy_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

var updateExample = flag.Bool("update-example", false, "write what the paper's example gives now into testdata/example-*.txt")

// TestPaperExample walks the paper's own example through the golden scripts testdata/example-*.txt: blocks of a command, a line "----", and what
// it printed. Commands:
//
//	policy NAME NODES...             nodes are ID=CAPACITY, options virtual=N
//	circle                           virtual nodes, clockwise
//	query NAME NUMBER [avoid=ID]     a session's message
//	load ID USED/LIMIT/CAP           messages in flight, limit and hard cap (or none); at its limit the node is full
//	state ID ineligible
func TestPaperExample(t *testing.T) {
	files, err := filepath.Glob("testdata/example-*.txt")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d scripts (%v), want those of both circles and of the slot ring", len(files), err)
	}

	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			var (
				script example
				out    []string
			)

			for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
				command, _, _ := strings.Cut(block, "\n----")
				out = append(out, strings.TrimRight(command+"\n----\n"+script.run(t, command), "\n"))
			}

			got := strings.Join(out, "\n\n") + "\n"
			if *updateExample {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			if got != string(text) && !*updateExample {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
		})
	}
}

// example is the state of a script.
type example struct {
	policy policy.Policy
	name   string
	labels map[uint32]string // of virtual nodes, by position
}

// run runs the commands of a block, comments (#) left out.
func (e *example) run(t *testing.T, block string) string {
	t.Helper()

	var out strings.Builder

	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}

		switch words[0] {
		case "policy":
			e.build(t, words[1], words[2:])
		case "circle":
			e.circle(&out)
		case "query":
			e.query(t, words[1:], &out)
		case "load":
			e.load(t, words[1], words[2])
		case "state":
			e.policy.SetState(e.index(t, words[1]), ring.Ineligible)
		default:
			t.Fatalf("no such command: %s", line)
		}
	}

	return out.String()
}

func (e *example) build(t *testing.T, name string, words []string) {
	t.Helper()

	o := standard()

	var nodes []ring.Node

	for _, w := range words {
		id, value, _ := strings.Cut(w, "=")
		if id == "virtual" {
			o.VirtualNodes = number(t, value)
		} else {
			nodes = append(nodes, ring.Node{ID: id, Capacity: uint32(number(t, value))})
		}
	}

	e.policy, e.name, e.labels = mustNew(t, name, nodes, o), name, map[uint32]string{}

	for i, k := range policy.Numbers(nodes) {
		for v := range o.VirtualNodes {
			k = policy.FibonacciHash(k, e.positions())
			if e.labels[k] == "" {
				e.labels[k] = fmt.Sprint(nodes[i].ID, v+1)
			}
		}
	}
}

func (e *example) positions() uint64 {
	if e.name == "paper" {
		return 1000
	}

	return 1 << 32
}

func (e *example) circle(out *strings.Builder) {
	for _, v := range policy.CircleOf(e.policy) {
		fmt.Fprintf(out, "%s at %d\n", e.labels[v.At], v.At)
	}
}

// query prints where a message goes and why.
func (e *example) query(t *testing.T, words []string, out *strings.Builder) {
	t.Helper()

	q := policy.SessionQuery(uint64(number(t, words[1])))
	for _, w := range words[2:] {
		q.Avoid = e.index(t, strings.TrimPrefix(w, "avoid="))
	}

	var met string

	if home, isSlots := e.policy.(interface{ Home(hash uint64) int }); isSlots {
		met = "whose slot is of " + e.policy.Node(home.Home(q.Hash)).ID
	} else {
		vs := policy.CircleOf(e.policy)
		at := policy.FibonacciHash(uint32(q.Number), e.positions())
		met = fmt.Sprintf("at %d meets %s", at, e.labels[vs[policy.First(vs, at)].At])
	}

	c := e.policy.Pick(q)
	if c.Node == ring.NoNode {
		fmt.Fprintf(out, "%s %s: %s\n", words[0], met, c.How)

		return
	}

	fmt.Fprintf(out, "%s %s: %s takes it (%s)\n", words[0], met, e.policy.Node(c.Node).ID, c.How)
}

func (e *example) load(t *testing.T, id, load string) {
	t.Helper()

	parts := strings.Split(load, "/")
	l := policy.Load{InFlight: uint32(number(t, parts[0])), Limit: uint32(number(t, parts[1])), HardCap: math.MaxUint32}

	if parts[2] != "none" {
		l.HardCap = uint32(number(t, parts[2]))
	}

	i, s := e.index(t, id), ring.Open
	if l.InFlight >= l.Limit {
		s = ring.AtLimit
	}

	e.policy.SetLoad(i, l)
	e.policy.SetState(i, s)
}

func (e *example) index(t *testing.T, id string) int {
	t.Helper()

	for i := range e.policy.Len() {
		if e.policy.Node(i).ID == id {
			return i
		}
	}

	t.Fatalf("no node %s", id)

	return ring.NoNode
}

func number(t *testing.T, s string) int {
	t.Helper()

	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}

	return n
}
