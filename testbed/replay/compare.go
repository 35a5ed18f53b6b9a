package replay

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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

	foreign chain // held for associations that are none of this replay's

	retired map[string]uint64 // of the observation
}

// compare pairs expected and observed sessions key by key.
//
// Others may send to the target meanwhile, in the same sessions too where these are keyed by content (Diameter,
// M3UA). Replay cannot know the epochs of its associations beforehand; it knows them by their chains: an epoch whose
// chains in one session are what an association sent there is its own. What epochs hold that are not its own is other
// traffic, no difference, as long as nothing is missing and it is no copy of what was sent. That hides no fault:
// a message takes effect under the epoch of the association it was sent on, so that a second effect, a lost one or a
// wrong order shows in a chain of an own epoch, by count or value, and one in a wrong session as an own epoch there.
func compare(expected sessions, o *observation) *comparison {
	c := &comparison{retired: o.retired}
	pairings := make(map[string]*pairing)
	own := make(map[uint64]struct{})

	for _, keys := range []sessions{expected, o.sessions} {
		for k := range keys {
			if pairings[k] == nil {
				pairings[k] = pair(k, expected[k], o.sessions[k], own)
			}
		}
	}

	for _, k := range slices.Sorted(maps.Keys(pairings)) {
		c.key(k, pairings[k], own)
	}

	if more := c.differing - uint64(len(c.sentences)); more > 0 {
		c.sentences = append(c.sentences, fmt.Sprintf("... and %s more", plural(more, "session")))
	}

	return c
}

// pairing is what of the sessions of one key is the same, and what is left.
type pairing struct {
	shared  bool                // the key does not name the association: the sessions are parts of one
	sent    map[string]struct{} // signatures of all that was expected
	same    []session
	wanting []session
	surplus []session
}

// pair pairs the sessions of one key by their signatures, and adds the epochs of those that have one to own. Of a session
// that associations share each one's part is paired by itself.
func pair(k string, expected, observed []session, own map[uint64]struct{}) *pairing {
	p := &pairing{shared: !key.HasAssociation([]byte(k)), sent: make(map[string]struct{})}
	if p.shared {
		expected, observed = parts(expected), parts(observed)
	}

	open := make(map[string]int, len(expected))

	for _, s := range expected {
		open[s.signature()]++
		p.sent[s.signature()] = struct{}{}
	}

	for _, s := range observed {
		signature := s.signature()
		if open[signature] == 0 {
			p.surplus = append(p.surplus, s)

			continue
		}

		open[signature]--
		p.same = append(p.same, s)

		for src := range s {
			own[src.association] = struct{}{}
		}
	}

	for _, s := range expected {
		if signature := s.signature(); open[signature] > 0 {
			open[signature]--

			p.wanting = append(p.wanting, s)
		}
	}

	return p
}

// parts splits sessions by association.
func parts(whole []session) []session {
	var all []session

	for _, s := range whole {
		byAssociation := make(map[uint64]session)

		for _, src := range s.sorted() {
			if byAssociation[src.association] == nil {
				byAssociation[src.association] = make(session)
				all = append(all, byAssociation[src.association])
			}

			byAssociation[src.association][src] = s[src]
		}
	}

	return all
}

// key judges what the pairing of a key left.
func (c *comparison) key(k string, p *pairing, own map[uint64]struct{}) {
	for _, s := range p.same {
		c.present += s.total().count
	}

	extra := c.withoutForeign(p, own)
	if len(p.wanting) == 0 && len(extra) == 0 {
		return
	}

	if !p.shared {
		c.leftovers(k, p.wanting, extra)

		return
	}

	// It is one session: tell of it as a whole.
	want, have := join(p.same, p.wanting), join(p.same, extra)
	c.present -= join(p.same).total().count
	c.leftovers(k, some(want), some(have))
}

// withoutForeign is what differs of the surplus: of own epochs, a copy of what was sent, or what may be what is
// wanting in a form of its own.
func (c *comparison) withoutForeign(p *pairing, own map[uint64]struct{}) []session {
	rank := func(s session) int {
		if _, copied := p.sent[s.signature()]; copied || s.isOf(own) {
			return 0
		}

		return 1
	}

	slices.SortStableFunc(p.surplus, func(a, b session) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(p.distance(a), p.distance(b)))
	})

	var extra []session

	for i, s := range p.surplus {
		if rank(s) == 0 || i < len(p.wanting) {
			extra = append(extra, s)

			continue
		}

		sum := s.total()
		c.foreign.count += sum.count
		c.foreign.bytes += sum.bytes
	}

	return extra
}

// distance is by how many messages a session differs from what is wanting, as far as it is the likeliest.
func (p *pairing) distance(s session) uint64 {
	least := uint64(math.MaxUint64)

	for _, wanted := range p.wanting {
		a, b := wanted.total().count, s.total().count
		least = min(least, max(a, b)-min(a, b))
	}

	return least
}

// isOf tells whether an epoch of the session is among them.
func (s session) isOf(epochs map[uint64]struct{}) bool {
	for src := range s {
		if _, among := epochs[src.association]; among {
			return true
		}
	}

	return false
}

// join makes one session of parts.
func join(lists ...[]session) session {
	whole := make(session)
	for _, list := range lists {
		for _, part := range list {
			maps.Copy(whole, part)
		}
	}

	return whole
}

// some is a list of the session, empty when it has no chain.
func some(s session) []session {
	if len(s) == 0 {
		return nil
	}

	return []session{s}
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
