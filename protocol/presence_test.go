package protocol_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"skyring/protocol"
)

// TestPresenceOfSpecification holds what the tables of messages say of each element, and
// the ranges of the table of elements, against what the codec takes.
func TestPresenceOfSpecification(t *testing.T) {
	greatest := map[string]string{}

	for _, row := range table(t, "type", "element", "size") {
		_, greatest[row[1]], _ = strings.Cut(row[3], " to ")
	}

	for _, s := range fullest() {
		h := header(s.m.Type())
		all := split(wire(h, unhex(t, s.elements)))

		for i, e := range all {
			name := protocol.Element(e.wire[0]).String()
			presence := presenceOf(t, h.Type, name)
			with := func(value []byte) error {
				other := element{wire: append([]byte{e.wire[0], e.wire[1]}, value...)}
				_, _, err := protocol.Decode(join(h, append(append(append([]element{}, all[:i]...), other), all[i+1:]...)))

				return err
			}

			_, _, err := protocol.Decode(join(h, append(append([]element{}, all[:i]...), all[i+1:]...)))
			if mandatory := strings.HasPrefix(presence, "mandatory"); errors.Is(err, protocol.ErrMissing) != mandatory || (err != nil) != mandatory {
				t.Errorf("%v without %s, which is %s: %v", h.Type, name, presence, err)
			}

			if err := with(make([]byte, e.wire[1])); (err != nil) != (presence != "mandatory") {
				t.Errorf("%v with %s 0, which is %s: %v", h.Type, name, presence, err)
			}

			if most := greatest[name]; most != "" {
				wantGreatest(t, name, number(t, most), int(e.wire[1]), with)
			}
		}
	}
}

// wantGreatest checks that an element takes its greatest value, and nothing over it.
func wantGreatest(t *testing.T, name string, most uint64, size int, with func(value []byte) error) {
	t.Helper()

	value := func(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v)[8-size:] }

	if err := with(value(most)); err != nil {
		t.Errorf("%s %d: %v", name, most, err)
	}

	if most < 1<<(8*size)-1 && with(value(most+1)) == nil {
		t.Errorf("%s %d is taken, %d is the greatest", name, most+1, most)
	}
}

// fullest are the samples of each message that have all its elements.
func fullest() []sample {
	best := map[protocol.Type]sample{}

	for _, s := range samples() {
		if b, known := best[s.m.Type()]; !known || len(s.elements) > len(b.elements) {
			best[s.m.Type()] = s
		}
	}

	all := make([]sample, 0, len(best))
	for _, s := range best {
		all = append(all, s)
	}

	return all
}

// presenceOf is what a message's table says of an element: "optional", "mandatory" or "mandatory, not 0".
func presenceOf(t *testing.T, typ protocol.Type, element string) string {
	t.Helper()

	_, row, _ := strings.Cut(sectionOf(t, typ), "\n| "+element+" | ")

	presence, _, found := strings.Cut(row, " | ")
	if !found || presence != "optional" && presence != "mandatory" && presence != "mandatory, not 0" {
		t.Fatalf("%v: the presence of %s is %q", typ, element, presence)
	}

	return presence
}
