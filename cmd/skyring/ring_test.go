package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ringShown is what ring show --json promises to other programs.
type ringShown struct {
	Dispatcher, Policy, Checksum string
	Bits                         uint8
	Slots                        int
	MaxFair                      float64
	Nodes                        []struct {
		ID, State   string
		Capacity    uint32
		Slots       int
		Share, Fair float64
	}
}

func TestRingOfNamedNodes(t *testing.T) {
	t.Parallel()

	var shown ringShown

	file := filepath.Join(t.TempDir(), "ring.svg")
	if err := runJSON(t, &shown, "ring", "show", "--nodes", "p1=1000,p2=1000", "--nodes", "p3=2000", "--json", "-o", file); err != nil {
		t.Fatal(err)
	}

	if len(shown.Nodes) != 3 || shown.Nodes[2].Slots != 1<<15 || shown.Nodes[2].Share != 0.5 || shown.Nodes[2].Fair != 0.5 || shown.MaxFair != 1 {
		t.Errorf("a ring of 1:1:2 is shown as %+v", shown)
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	for decoder := xml.NewDecoder(strings.NewReader(string(text))); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}

	for _, want := range []string{"<svg", "p1  25.00 %", "p3  50.00 %", shown.Checksum} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

// TestTooManyNodes names the limit, and does not print the whole list.
func TestTooManyNodes(t *testing.T) {
	t.Parallel()

	var list strings.Builder
	for i := range 70_000 {
		fmt.Fprintf(&list, "p%d,", i)
	}

	all := strings.TrimSuffix(list.String(), ",")

	for _, args := range [][]string{{"show", "--nodes", all}, {"preview", "--nodes", "p1", "--add", all}, {"explain", "17", "--nodes", all}} {
		text, err := output(t, append([]string{"ring"}, args...)...)
		if exitCode(err) != exitUsage || !strings.Contains(text, "these are more nodes than the 65535 that a ring can have") || len(text) > 1000 {
			t.Errorf("ring %s: %v\n%.1000s", args[0], err, text)
		}
	}
}

// TestChangesOfManyNodes: slips are told, and the first ones only.
func TestChangesOfManyNodes(t *testing.T) {
	t.Parallel()

	args := []string{"ring", "preview", "--nodes", "p1,p2"}
	for i := range 100 {
		args = append(args, "--remove", fmt.Sprintf("q%d", i))
	}

	text, err := output(t, args...)
	if exitCode(err) != exitUsage || !strings.Contains(text, "--remove q19: the ring has no such node: there are p1, p2") ||
		!strings.Contains(text, "... and 80 more") || strings.Contains(text, "q20") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestPictureHasRoomForLongNames(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "ring.svg")
	if text, err := output(t, "ring", "show", "--nodes", "p1,gateway-north-with-a-long-name", "-o", file); err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{">gateway-no…long-name  50.00 %", ">gate…name<"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

func TestPreviewOfAChange(t *testing.T) {
	t.Parallel()

	var m struct {
		Moved, Ideal, Ratio float64
		Nodes               []struct{ ID string }
	}
	if err := runJSON(t, &m, "ring", "preview", "--nodes", "p1,p2,p3", "--add", "p4", "--json"); err != nil {
		t.Fatal(err)
	}

	if m.Ideal != 0.25 || m.Moved < m.Ideal || m.Moved > 0.27 || len(m.Nodes) != 4 {
		t.Errorf("a fourth node moves %+v", m)
	}

	text, err := output(t, "ring", "preview", "--nodes", "p1,p2", "--remove", "p2", "--weight", "p2=7")
	if err == nil || !strings.Contains(text, "--remove p2: --weight changes this node") {
		t.Errorf("%v: %s", err, text)
	}

	text, err = output(t, "ring", "preview", "--nodes", "p1,p2", "--remove", "p2", "--weight", "p1=7")
	if err != nil || !strings.Contains(text, "50.00 % of all keys would move; 50.00 % have to") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestExplanationOfAPick(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"17", "--nodes", "p1"}, []string{"station:0000000000000017,", "home      slot", "p1 takes it (home)"}},
		{[]string{"station:00a1", "--nodes", "p1"}, []string{"station:00000000000000a1,"}},
		{[]string{"17", "--nodes", "p1,p2", "--at-limit", "p1", "--ineligible", "p2"}, []string{"p2, ineligible", "p1 takes it (best-weight)"}},
		{[]string{"17", "--nodes", "p1,p2,p3", "--at-limit", "p2,p3"}, []string{"p1's: open, weight 0.999", "p1's: met before", "p1 takes it (chain)"}},
		{[]string{"pool:3", "--nodes", "p1", "--ineligible", "p1"}, []string{"nobody takes it"}},
	} {
		text, err := output(t, append([]string{"ring", "explain"}, c.args...)...)
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
		}

		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%v prints\n%s\nwithout %q", c.args, text, want)
			}
		}
	}
}

func TestRingRefusesInSentences(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ args, want string }{
		{"show --nodes p1=0", "the capacity must be a number from 1 to 4294967295"},
		{"show --nodes p1,p1", "node p1 is there twice"},
		{"show --nodes p?=3", "p?=3"},
		{"show --nodes p1 --bits 3", "bits: 3 is out of 4..22"},
		{"show --bits 16", "--bits needs --nodes"},
		{"show --nats nats://127.0.0.1:1 --timeout 100ms", "nats://127.0.0.1:1"},
		{"show --nodes p1 -o /nonexistent/ring.svg", "--output"},
		{"preview --nodes p1", "what would change?"},
		{"preview --nodes p1 --remove p9", "--remove p9: the ring has no such node: there are p1"},
		{"preview --nodes p1 --add p1=5", "--weight p1=5 would change its capacity"},
		{"explain nonsense --nodes p1", "is no session key"},
		{"explain 17 --nodes p1 --at-limit p2", "--at-limit p2: the ring has no such node"},
		{"explain 17 --nodes p1,p2 --at-limit p1 --ineligible p1", "--at-limit p1: --ineligible names this node, too"},
		{"explain 0 --nodes p1", "is no session key"},
		{"explain 17 --at-limit p1", "need --nodes"},
		{"explain", "KEY is missing"},
	} {
		text, err := output(t, append([]string{"ring"}, strings.Fields(c.args)...)...)
		if err == nil || !strings.Contains(text, c.want) {
			t.Errorf("skyring ring %s: %v\n%s\nwithout %q", c.args, err, text, c.want)
		}
	}
}

func TestRingOfARunningDispatcher(t *testing.T) {
	in := install(t, 2)
	in.settled(t, "p1", "open")
	in.settled(t, "p2", "open")

	status, err := in.status(t)
	if err != nil {
		t.Fatal(err)
	}

	var shown ringShown
	if err := runJSON(t, &shown, "ring", "show", "--json", "--nats", in.nats); err != nil {
		t.Fatal(err)
	}

	if shown.Checksum != status.Ring.Checksums[0] || len(shown.Nodes) != 2 || shown.Nodes[0].State != "open" || shown.Dispatcher != "d1" || shown.Policy != "skyring" {
		t.Errorf("the dispatcher has ring %v, shown is %+v", status.Ring.Checksums, shown)
	}

	text, err := output(t, "ring", "explain", "17", "--nats", in.nats)
	if one, two := strings.Index(text, "\np1 "), strings.Index(text, "\np2 "); one < 0 || two < one {
		t.Errorf("nodes are not in the order of their ids:\n%s", text)
	}

	if err != nil || !strings.Contains(text, "takes it (home)") || !strings.Contains(text, "dispatcher d1, policy skyring") {
		t.Errorf("%v: %s", err, text)
	}
}
