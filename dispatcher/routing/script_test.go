package routing_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

var rewrite = flag.Bool("rewrite", false, "write the output of scripts as what is expected")

// TestScripts runs testdata/*.txt: paragraphs of commands, "----", and what the
// last of them print. Lines that begin with # are for the reader.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}

	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			got := runScript(t, string(want))

			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}

				return
			}

			if got != string(want) {
				t.Errorf("%s differs, -rewrite would make it\n%s", file, got)
			}
		})
	}
}

// runScript returns the script with the output that it has now.
func runScript(t *testing.T, script string) string {
	t.Helper()

	var out strings.Builder

	s := &scene{cfg: testConfig(), entries: map[string]uint64{}, nodes: map[string]*bus.Heartbeat{}}
	s.core = routing.New(s.cfg, 1)
	expected := false

	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")

		switch {
		case expected && line != "":
			continue
		case expected:
			expected = false

			out.WriteString("\n")
		case line == "----":
			expected = true

			out.WriteString("----\n")
			s.events()
			out.Write(s.out.Bytes())
			s.out.Reset()
		case line == "", strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
			s.run(t, line)
		}
	}

	return out.String()
}

// scene is a core that a script plays with.
type scene struct {
	cfg     routing.Config
	core    *routing.Core
	now     time.Duration
	entries map[string]uint64 // id of the entry of epoch/sequence, once it was written
	filled  string            // what the last fill wrote, as answer takes it
	nodes   map[string]*bus.Heartbeat
	out     bytes.Buffer
}

type arguments map[string]string

func (a arguments) number(t *testing.T, name string, otherwise int) int {
	t.Helper()

	v, ok := a[name]
	if !ok {
		return otherwise
	}

	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}

	return n
}

func (s *scene) run(t *testing.T, line string) {
	t.Helper()

	fields := strings.Fields(line)
	args := arguments{}

	for _, f := range fields[1:] {
		name, value, _ := strings.Cut(f, "=")
		args[name] = value
	}

	commands := map[string]func(*testing.T, arguments){
		"config":     s.config,
		"heartbeat":  s.heartbeat,
		"ring":       s.ring,
		"submit":     s.submit,
		"strangers":  s.strangers,
		"rounds":     s.rounds,
		"fill":       s.fill,
		"answer":     s.answer,
		"pass":       s.pass,
		"gone":       func(_ *testing.T, a arguments) { s.core.NoResponders(s.now, a["node"]) },
		"disconnect": func(*testing.T, arguments) { s.core.Disconnected(s.now) },
		"reconnect":  func(*testing.T, arguments) { s.core.Reconnected(s.now) },
		"stats":      s.stats,
		"why":        s.why,
		"keys":       s.keys,
	}

	command := commands[fields[0]]
	if command == nil {
		t.Fatalf("no command %q", fields[0])
	}

	command(t, args)
	s.events()
}

func (s *scene) events() {
	for _, e := range s.core.Events() {
		fmt.Fprintf(&s.out, "node %s: %s", e.Node, e.Kind)

		if e.Kind == routing.NodeDead {
			fmt.Fprintf(&s.out, " by %s", e.Cause)
		}

		if e.State != "" {
			fmt.Fprintf(&s.out, ", says %s", e.State)
		}

		if e.Moved > 0 {
			fmt.Fprintf(&s.out, ", moves %d", e.Moved)
		}

		s.out.WriteString("\n")
	}
}

func (s *scene) config(t *testing.T, a arguments) {
	t.Helper()

	s.cfg.Window = a.number(t, "window", s.cfg.Window)
	s.cfg.InFlightLimit = a.number(t, "limit", s.cfg.InFlightLimit)
	s.cfg.HardCap = a.number(t, "hardCap", s.cfg.HardCap)
	s.cfg.MaxBytesPerNode = a.number(t, "bytes", s.cfg.MaxBytesPerNode)
	s.cfg.RetryRate = float64(a.number(t, "retryRate", int(s.cfg.RetryRate)))
	s.cfg.MaxNodes = a.number(t, "maxNodes", s.cfg.MaxNodes)
	s.cfg.NodeMemory = time.Duration(a.number(t, "nodeMemory", int(s.cfg.NodeMemory/time.Millisecond))) * time.Millisecond
	s.cfg.Probe = time.Duration(a.number(t, "probe", int(s.cfg.Probe/time.Millisecond))) * time.Millisecond
	s.core = routing.New(s.cfg, 1)
}

func (s *scene) heartbeat(t *testing.T, a arguments) {
	t.Helper()

	id := a["node"]
	h := s.nodes[id]

	if h == nil {
		h = &bus.Heartbeat{ID: id, Incarnation: uint64(100*len(s.nodes) + 100)}
		s.nodes[id] = h
	}

	beat := *h
	if n := a.number(t, "incarnation", int(h.Incarnation)); n != int(h.Incarnation) {
		beat = bus.Heartbeat{ID: id, Incarnation: uint64(n)}
	}

	beat.Sequence = uint64(a.number(t, "sequence", int(beat.Sequence)+1))
	beat.Capacity = uint32(a.number(t, "capacity", 100))
	beat.CPU = float64(a.number(t, "cpu", 0)) / 100
	beat.Memory = float64(a.number(t, "memory", 0)) / 100
	beat.State = map[string]bus.NodeState{"": bus.Ready, "starting": bus.Starting, "draining": bus.Draining, "leaving": bus.Leaving}[a["state"]]

	s.core.Heartbeat(s.now, beat)

	if a["twin"] == "" {
		*h = beat
	}
}

// slotted is the ring without its bound on keys, which spreads the few keys of a script.
type slotted struct {
	policy.Policy
	shared
}

type shared interface {
	Checksum() uint64
	Share(i int) int
	Slots() int
}

// ring bound=off
func (s *scene) ring(t *testing.T, a arguments) {
	t.Helper()

	members, wanted := s.core.PolicyWanted()
	if !wanted {
		s.out.WriteString("the ring is as it should be\n")

		return
	}

	r, err := policy.New(policy.Default, members, policy.Options{Ring: ring.Config{Bits: 8}})
	if err != nil {
		t.Fatal(err)
	}

	if a["bound"] == "off" {
		r = slotted{r, r.(shared)}
	}

	s.core.SetPolicy(s.now, r)
	s.out.WriteString("ring of")

	for i := range r.Len() {
		fmt.Fprintf(&s.out, " %s:%d", r.Node(i).ID, r.(shared).Share(i))
	}

	s.out.WriteString("\n")
}

// strangers key=K from=EPOCH to=EPOCH each=N size=N lives=MS
func (s *scene) strangers(t *testing.T, a arguments) {
	t.Helper()

	for epoch := a.number(t, "from", 1); epoch <= a.number(t, "to", 1); epoch++ {
		for sequence := range a.number(t, "each", 1) {
			a["of"] = fmt.Sprintf("%d/%d", epoch, sequence+1)
			s.submit(t, a)
		}
	}
}

// submit key=K of=EPOCH/SEQUENCE,... size=N lives=MS
func (s *scene) submit(t *testing.T, a arguments) {
	t.Helper()

	for of := range strings.SplitSeq(a["of"], ",") {
		m := routing.Message{
			Key: []byte(a["key"]), Hash: xxh3.HashString(a["key"]),
			Payload: make([]byte, a.number(t, "size", 10)),
		}

		if lives := a.number(t, "lives", 0); lives > 0 {
			m.GiveUp = s.now + time.Duration(lives)*time.Millisecond
		}

		if _, err := fmt.Sscanf(of, "%d/%d", &m.Epoch, &m.Sequence); err != nil {
			t.Fatal(err)
		}

		s.core.Submit(s.now, &m)
	}
}

func (s *scene) fill(t *testing.T, a arguments) {
	t.Helper()

	var filled []string

	for _, n := range s.core.Nodes(0) {
		if a["node"] != "" && a["node"] != n.ID() {
			continue
		}

		var (
			w bus.EnvelopeWriter
			e bus.Envelope
		)

		w.Reset(nil, 1)

		if s.core.Fill(s.now, n, &w, routing.Frame{Messages: a.number(t, "messages", 256), Bytes: a.number(t, "bytes", 1<<18)}) == 0 {
			continue
		}

		r, err := bus.DecodeEnvelopes(w.Bytes())
		if err != nil {
			t.Fatal(err)
		}

		fmt.Fprintf(&s.out, "to %s:", n.ID())

		for r.Next(&e) {
			of := fmt.Sprintf("%d/%d", e.Epoch, e.Sequence)
			s.entries[of] = e.Entry
			filled = append(filled, of)
			fmt.Fprintf(&s.out, " %s %s attempt %d", e.Key, of, e.Attempt)

			if e.After != 0 {
				fmt.Fprintf(&s.out, " after %d", e.After)
			}

			if a["expiry"] != "" {
				fmt.Fprintf(&s.out, " expires at %s", time.Duration(e.Expiry)*time.Microsecond)
			}

			s.out.WriteString(";")
		}

		s.out.WriteString("\n")
	}

	s.filled = strings.Join(filled, ",")
}

// answer from=NODE of=EPOCH/SEQUENCE,... attempt=N status=S; of what the last fill wrote without of
func (s *scene) answer(t *testing.T, a arguments) {
	t.Helper()

	var status bus.Status
	for status = bus.Committed; status < bus.Refused && status.String() != a["status"]; status++ {
	}

	incarnation := s.nodes[a["from"]].Incarnation
	s.core.Heard(s.now, incarnation)

	if a["of"] == "" {
		a["of"] = s.filled
	}

	for of := range strings.SplitSeq(a["of"], ",") {
		id, ok := s.entries[of]
		if !ok {
			t.Fatalf("%s was never written", of)
		}

		s.core.Answer(s.now, incarnation, &bus.Answer{
			Entry: id, Attempt: uint32(a.number(t, "attempt", 1)), Status: status,
		})

		s.done()
	}
}

// rounds n=N from=NODE status=S: fills and answers so often, and prints nothing
func (s *scene) rounds(t *testing.T, a arguments) {
	t.Helper()

	printed := s.out.Len()

	for range a.number(t, "n", 1) {
		s.fill(t, arguments{})
		s.answer(t, arguments{"from": a["from"], "status": a["status"]})
	}

	s.out.Truncate(printed)
}

func (s *scene) done() {
	for _, f := range s.core.Done() {
		if f.GivenUp {
			fmt.Fprintf(&s.out, "%d/%d is given up\n", f.Epoch, f.Sequence)

			continue
		}

		fmt.Fprintf(&s.out, "%d/%d is done: %s\n", f.Epoch, f.Sequence, f.Status)
	}
}

// pass ms=N step=N beats=1: with heartbeats of all nodes each second
func (s *scene) pass(t *testing.T, a arguments) {
	t.Helper()

	step := time.Duration(a.number(t, "step", 5)) * time.Millisecond
	for end := s.now + time.Duration(a.number(t, "ms", 5))*time.Millisecond; s.now < end; {
		s.now = min(s.now+step, end)
		s.core.Tick(s.now)
		s.done()

		if a["beats"] != "" && s.now%time.Second == 0 {
			for _, h := range s.nodes {
				h.Sequence++
				s.core.Heartbeat(s.now, *h)
			}
		}
	}
}

// keys prints how many keys each node has of late
func (s *scene) keys(*testing.T, arguments) {
	for _, n := range s.core.Stats().Nodes {
		fmt.Fprintf(&s.out, "%s has %d; ", n.ID, n.Keys)
	}

	s.out.WriteString("\n")
}

// why key=K
func (s *scene) why(_ *testing.T, a arguments) {
	e := s.core.Explain(&routing.Message{Key: []byte(a["key"]), Hash: xxh3.HashString(a["key"])})
	fmt.Fprintf(&s.out, "%s: %d unanswered", a["key"], e.Unanswered)

	if e.Node != "" {
		fmt.Fprintf(&s.out, " at %s", e.Node)
	}

	fmt.Fprintf(&s.out, ", home %s, bound to %q", e.Home, e.Binding)

	for _, k := range e.Skipped {
		fmt.Fprintf(&s.out, ", not %s (%s)", k.Node, k.Reason)
	}

	fmt.Fprintf(&s.out, ", goes to %q by %s\n", e.Taken, e.How)
}

func (s *scene) stats(*testing.T, arguments) {
	st := s.core.Stats()
	fmt.Fprintf(&s.out, "unanswered %d, keys %d, parked %d", st.Unanswered, st.Sessions, st.Waiting)

	for cause, n := range st.Resent {
		if n > 0 {
			fmt.Fprintf(&s.out, ", by %s %d", routing.Cause(cause), n)
		}
	}

	for drop, n := range st.Dropped {
		if n > 0 {
			fmt.Fprintf(&s.out, ", %s %d", routing.Drop(drop), n)
		}
	}

	if st.GivenUp > 0 {
		fmt.Fprintf(&s.out, ", given up %d", st.GivenUp)
	}

	if st.NoBudget > 0 {
		fmt.Fprintf(&s.out, ", no budget %d", st.NoBudget)
	}

	s.out.WriteString("\n")

	for _, n := range st.Nodes {
		fmt.Fprintf(&s.out, "%s %s: in flight %d (%d bytes), keys %d, answered %d",
			n.ID, n.Status, n.InFlight, n.Bytes, n.Sessions, n.Answered)

		if n.Limit != s.cfg.InFlightLimit {
			fmt.Fprintf(&s.out, ", limit %d at %s", n.Limit, n.Response)
		}

		s.out.WriteString("\n")
	}
}
