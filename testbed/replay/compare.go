package replay

import (
	"cmp"
	"fmt"
	"slices"

	"skyring/processor/ledger"
	"skyring/protocol/key"
)

// maxDifferences is how many differing sessions are told in sentences.
const maxDifferences = 20

// comparison is what differs between what was sent and what the store holds.
type comparison struct {
	differing uint64   // sessions that differ, are missing, or were not expected
	sentences []string // of the first ones

	// messages by count, for a target without receipts
	present uint64 // sent and held
	missing uint64 // sent and not held
	surplus uint64 // held beyond what was sent

	retired map[string]uint64 // of the observation
}

// compare pairs expected and observed sessions key by key.
func compare(expected sessions, o *observation) *comparison {
	c := &comparison{retired: o.retired}
	observed := o.sessions

	keys := make([]string, 0, len(expected))
	for k := range expected {
		keys = append(keys, k)
	}

	for k := range observed {
		if _, both := expected[k]; !both {
			keys = append(keys, k)
		}
	}

	slices.Sort(keys)

	for _, k := range keys {
		c.key(k, expected[k], observed[k])
	}

	if more := c.differing - uint64(len(c.sentences)); more > 0 {
		c.sentences = append(c.sentences, fmt.Sprintf("... and %s more", plural(more, "session")))
	}

	return c
}

// key compares the sessions of one key: what has the same signature is paired, what is
// left differs.
func (c *comparison) key(k string, expected, observed []session) {
	bySignature := make(map[string]int, len(expected))
	for _, s := range expected {
		bySignature[s.signature()]++
	}

	var extra []session

	for _, s := range observed {
		signature := s.signature()
		if bySignature[signature] == 0 {
			extra = append(extra, s)

			continue
		}

		bySignature[signature]--
		c.present += s.total().count
	}

	var wanting []session

	for _, s := range expected {
		if signature := s.signature(); bySignature[signature] > 0 {
			bySignature[signature]--

			wanting = append(wanting, s)
		}
	}

	c.leftovers(k, wanting, extra)
}

// leftovers pairs sessions that differ by their size, the likeliest to be the same one.
func (c *comparison) leftovers(k string, wanting, extra []session) {
	bySize := func(a, b session) int { return cmp.Compare(b.total().count, a.total().count) }
	slices.SortStableFunc(wanting, bySize)
	slices.SortStableFunc(extra, bySize)

	for i := range max(len(wanting), len(extra)) {
		var want, have session
		if i < len(wanting) {
			want = wanting[i]
		}

		if i < len(extra) {
			have = extra[i]
		}

		w, h := want.total().count, have.total().count
		c.present += min(w, h)
		c.missing += w - min(w, h)
		c.surplus += h - min(w, h)
		c.differing++

		if len(c.sentences) < maxDifferences {
			c.sentences = append(c.sentences, key.Format([]byte(k))+": "+difference(want, have)+c.retiredNote(k))
		}
	}
}

// retiredNote explains what may be missing because a ledger keeps so many chains only.
func (c *comparison) retiredNote(k string) string {
	if c.retired[k] == 0 {
		return ""
	}

	return fmt.Sprintf(" (its ledger holds no more than %d chains and has folded %d others into sums)", ledger.MaxChains, c.retired[k])
}

// difference tells how two sessions differ.
func difference(want, have session) string {
	switch {
	case have == nil:
		return fmt.Sprintf("sent %s, the store has no such session", want.total())
	case want == nil:
		return fmt.Sprintf("the store holds %s that were not sent", have.total())
	case want.total() != have.total():
		return fmt.Sprintf("sent %s, the store holds %s", want.total(), have.total())
	}

	wanted, held := want.sorted(), have.sorted()
	if len(wanted) != len(held) {
		return fmt.Sprintf("sent %s over %s, the store holds them in %s",
			want.total(), plural(uint64(len(wanted)), "stream"), plural(uint64(len(held)), "chain"))
	}

	for i, src := range wanted {
		if src.lane != held[i].lane {
			return fmt.Sprintf("sent %s on %s, the store has them on %s", want[src], src.lane, held[i].lane)
		}

		if *want[src] != *have[held[i]] {
			return fmt.Sprintf("%s on %s: the store holds %s, of other content or in another order",
				want[src], src.lane, have[held[i]])
		}
	}

	return "its chains belong to other associations than they were sent on"
}

func (l lane) String() string {
	if l.unordered {
		return fmt.Sprintf("stream %d unordered", l.stream)
	}

	return fmt.Sprintf("stream %d", l.stream)
}
