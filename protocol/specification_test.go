package protocol_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"skyring/protocol"
)

// specification returns docs/essp.md.
func specification(tb testing.TB) string {
	tb.Helper()

	text, err := os.ReadFile("../docs/essp.md")
	if err != nil {
		tb.Fatal(err)
	}

	return string(text)
}

// table returns the cells of the table in the specification whose head begins with some cells.
func table(tb testing.TB, head ...string) [][]string {
	tb.Helper()

	var rows [][]string

	inside := false

	for line := range strings.Lines(specification(tb)) {
		line = strings.TrimSpace(line)

		switch {
		case strings.HasPrefix(line, "| "+strings.Join(head, " | ")+" |"):
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && !strings.HasPrefix(line, "| ---"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}

			rows = append(rows, cells)
		}
	}

	if len(rows) == 0 {
		tb.Fatalf("no table %v in the specification", head)
	}

	return rows
}

func number(tb testing.TB, s string) uint64 {
	tb.Helper()

	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		tb.Fatal(err)
	}

	return n
}

// examples returns the caption, which begins with the message's name, and bytes of every hex block.
func examples(tb testing.TB) (captions []string, messages [][]byte) {
	tb.Helper()

	blocks := regexp.MustCompile("(?m)^([A-Z-]+): .*\n\n```hex\n([^`]*)```").FindAllStringSubmatch(specification(tb), -1)
	if want := strings.Count(specification(tb), "```hex"); len(blocks) != want || want == 0 {
		tb.Fatalf("%d of %d hex blocks have a caption", len(blocks), want)
	}

	for _, b := range blocks {
		captions = append(captions, b[1])
		messages = append(messages, unhex(tb, b[2]))
	}

	return captions, messages
}

func TestExamplesOfSpecification(t *testing.T) {
	seen := map[protocol.Type]bool{}
	captions, messages := examples(t)

	for i, b := range messages {
		h, m, err := protocol.Decode(b)
		if err != nil {
			t.Errorf("%s: %v", captions[i], err)

			continue
		}

		seen[h.Type] = true

		if again, err := protocol.Append(nil, h, m); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s encodes to % x, %v", captions[i], again, err)
		}

		if h.Type.String() != captions[i] {
			t.Errorf("%s is %v", captions[i], h.Type)
		}

		if auth, is := m.(protocol.LogonAuth); is {
			wantProof(t, h, auth)
		}
	}

	for _, typ := range allTypes() {
		if !seen[typ] {
			t.Errorf("no example of %v", typ)
		}
	}
}

// wantProof checks an example against the key that annex A names.
func wantProof(t *testing.T, h protocol.Header, m protocol.LogonAuth) {
	t.Helper()

	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(i)
	}

	if want := protocol.LogonProof(key, h.Station, m.Nonce, m.BootNonce, m.Beam); m.Proof != want {
		t.Errorf("proof % x, want % x", m.Proof, want)
	}
}

// TestHeadersOfSpecification holds the table of messages against what the codec allows.
func TestHeadersOfSpecification(t *testing.T) {
	zero := map[protocol.Type]protocol.Message{}
	for _, s := range samples() {
		zero[s.m.Type()] = s.m
	}

	calls := map[string][]protocol.CallReference{
		"none": {0}, "station's": {1, 0x7FFF}, "gateway's": {0x8001, 0xFFFF}, "either side's": {1, 0x7FFF, 0x8001, 0xFFFF},
		"none or either": {0, 1, 0x7FFF, 0x8001, 0xFFFF},
	}
	responses := map[string][]protocol.Flags{"no": {0}, "yes": {protocol.Response}, "yes or no": {0, protocol.Response}}
	rows := table(t, "type", "message", "direction")

	if len(rows) != len(allTypes()) {
		t.Errorf("%d messages, the codec has %d", len(rows), len(allTypes()))
	}

	for i, row := range rows {
		typ := protocol.Type(number(t, row[0]))
		name, _, _ := strings.Cut(row[1], " (later)")

		if typ.String() != name || row[5] != fmt.Sprintf("5.%d", i+1) || !strings.Contains(specification(t), "### "+row[5]+" "+row[1]+"\n") {
			t.Errorf("%v is %v", row, typ)
		}

		for _, call := range []protocol.CallReference{0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF} {
			for _, flags := range []protocol.Flags{0, protocol.Response} {
				h := protocol.Header{Call: call, Flags: flags, Station: 1, Sequence: 1}
				_, err := protocol.Append(nil, h, zero[typ])

				want := slices.Contains(calls[row[3]], call) && slices.Contains(responses[row[4]], flags)
				if (err == nil) != want {
					t.Errorf("%v with call %v and flags %v: %v", typ, call, flags, err)
				}
			}
		}

		wantNotice(t, zero[typ])
	}
}

// wantNotice checks section 3 on station 0 and sequence 0.
func wantNotice(t *testing.T, m protocol.Message) {
	t.Helper()

	typ := m.Type()
	want := typ == protocol.TypeLogonPrompt || typ == protocol.TypeOverload || typ == protocol.TypeError

	h := header(typ)
	h.Station = 0
	_, stationErr := protocol.Append(nil, h, m)

	h = header(typ)
	h.Sequence = 0
	_, sequenceErr := protocol.Append(nil, h, m)

	if (stationErr == nil) != want || (sequenceErr == nil) != want {
		t.Errorf("%v: station 0 %v, sequence 0 %v", typ, stationErr, sequenceErr)
	}
}

// TestElementsOfSpecification holds the tables of elements, of all and of each message,
// against the samples, which the codec is tested with.
func TestElementsOfSpecification(t *testing.T) {
	size := map[string]uint64{}

	for _, row := range table(t, "type", "element", "size") {
		if got := protocol.Element(number(t, row[0])).String(); got != row[1] {
			t.Errorf("%v is %s", row, got)
		}

		size[row[1]] = number(t, row[2])
	}

	n := 0

	for v := range 255 {
		if !strings.HasPrefix(protocol.Element(v+1).String(), "element 0x") {
			n++
		}
	}

	if n != len(size) {
		t.Errorf("%d elements, the codec has %d", len(size), n)
	}

	for typ, elements := range elementsOf(t) {
		section := sectionOf(t, typ)
		if got := strings.Count(section, "\n| ") - 2; got != len(elements) {
			t.Errorf("%v has %d elements, its section %d", typ, len(elements), got)
		}

		for _, e := range elements {
			if !strings.Contains(section, "\n| "+protocol.Element(e).String()+" | ") {
				t.Errorf("section of %v has no %v", typ, protocol.Element(e))
			}
		}
	}

	for _, s := range samples() {
		for _, e := range split(wire(header(s.m.Type()), unhex(t, s.elements))) {
			if name := protocol.Element(e.wire[0]).String(); size[name] != uint64(e.wire[1]) {
				t.Errorf("%s has %d bytes, want %d", name, e.wire[1], size[name])
			}
		}
	}
}

func sectionOf(t *testing.T, typ protocol.Type) string {
	t.Helper()

	_, after, found := strings.Cut(specification(t), " "+typ.String()+"\n")
	if !found {
		_, after, found = strings.Cut(specification(t), " "+typ.String()+" (later)\n")
	}

	section, _, ended := strings.Cut(after, "\n#")
	if !found || !ended {
		t.Fatalf("no section of %v", typ)
	}

	return section
}

func TestCausesOfSpecification(t *testing.T) {
	rows := table(t, "cause", "name", "class")

	all := protocol.Causes()
	if len(rows) != len(all) {
		t.Fatalf("%d causes, the registry has %d", len(rows), len(all))
	}

	for i, row := range rows {
		c := all[i]
		if number(t, row[0]) != uint64(c) || row[1] != c.String() || row[2] != c.Class().String() || !strings.HasPrefix(row[3], c.Source()) {
			t.Errorf("%v is %d %v %v %v", row, c, c, c.Class(), c.Source())
		}
	}
}

func TestStatesAndPrioritiesOfSpecification(t *testing.T) {
	for i, row := range table(t, "number", "state", "meaning") {
		if got := protocol.CallState(number(t, row[0])); int(got) != i || got.String() != row[1] {
			t.Errorf("%v is %v", row, got)
		}
	}

	for _, row := range table(t, "priority", "name") {
		if got := protocol.Priority(number(t, row[0])); got.String() != row[1] {
			t.Errorf("%v is %v", row, got)
		}
	}
}

// TestProblemsOfSpecification has the causes of section 4.3.
func TestProblemsOfSpecification(t *testing.T) {
	rows := table(t, "what is wrong", "cause")

	for i, problems := range [][]protocol.Problem{
		{protocol.ErrVersion},
		{protocol.ErrType},
		{protocol.ErrCall},
		{protocol.ErrMissing},
		{protocol.ErrUnknown},
		{protocol.ErrSize, protocol.ErrRange, protocol.ErrZero},
		{
			protocol.ErrLength, protocol.ErrFlags, protocol.ErrPriority, protocol.ErrStation, protocol.ErrSequence, protocol.ErrOrder,
			protocol.ErrDuplicate, protocol.ErrTruncated, protocol.ErrResponse,
		},
	} {
		for _, p := range problems {
			if got := p.Cause(); uint64(got) != number(t, rows[i][1]) {
				t.Errorf("%v: cause %d, want %s (%s)", p, got, rows[i][1], rows[i][0])
			}
		}
	}
}
