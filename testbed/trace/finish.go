package trace

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// association is what a conversation comes to; its messages go to emit.
func (c *conversation) association(id int, emit func(placed)) Association {
	client, role := c.roles()
	a := Association{
		ID: id, Client: c.ends[client].endpoint(), Server: c.ends[client.other()].endpoint(), Role: role,
		Handshake: c.initSeen[0] || c.initSeen[1] || c.acknowledged, Ending: c.ending, Start: c.start, End: c.stop,
	}
	assemble(&c.ends[client].sends, &assembly{association: id, direction: ToServer, flow: &a.ToServer, emit: emit})
	assemble(&c.ends[client.other()].sends, &assembly{association: id, direction: ToClient, flow: &a.ToClient, emit: emit})
	return a
}

// report turns the counters into warnings.
func (r *reading) report() {
	t := r.trace
	for _, link := range slices.Sorted(maps.Keys(r.unknown)) {
		r.warn(0, 0, fmt.Sprintf("%s of %s, which cannot be read, left out", plural(r.unknown[link], "packet"), linkName(link)))
	}
	for _, w := range []struct {
		tally tally
		text  string
	}{
		{r.broken, "damaged below SCTP, left out"},
		{r.malformed, "of SCTP with a header or chunk that lies about its length: the chunks before it are used"},
		{r.cut, "of SCTP captured in part (snap length): what is whole is used; capture with snap length 0"},
	} {
		if w.tally.count > 0 {
			r.warn(w.tally.packet, w.tally.offset, plural(w.tally.count, "packet")+" "+w.text)
		}
	}
	if lost := r.below.fragments.lost(); lost > 0 {
		r.warn(0, 0, plural(lost, "IP packet")+" of which fragments are missing or overlap, left out")
	}
	if t.BadCRC > 0 {
		r.warn(0, 0, plural(t.BadCRC, "packet")+" of SCTP with a wrong CRC32c, used: normal when captured before transmit offload")
	}
	r.reportFlows()
	if len(t.Messages) == 0 {
		r.warn(0, 0, "no user message was captured whole")
	}
}

func (r *reading) reportFlows() {
	var sum Flow
	for i := range r.trace.Associations {
		for _, flow := range []*Flow{&r.trace.Associations[i].ToServer, &r.trace.Associations[i].ToClient} {
			sum.Incomplete += flow.Incomplete
			sum.Missing += flow.Missing
			sum.Empty += flow.Empty
			sum.Conflicting += flow.Conflicting
		}
	}
	for _, w := range []struct {
		count      uint64
		noun, text string
	}{
		{sum.Incomplete, "message", "captured in part, left out"},
		{sum.Missing, "TSN", "not captured"},
		{sum.Empty, "message", "without user data, which RFC 9260 forbids, left out"},
		{sum.Conflicting, "chunk", "with other content under a TSN seen before, taken as repeats and left out"},
	} {
		if w.count > 0 {
			r.warn(0, 0, plural(w.count, w.noun)+" "+w.text)
		}
	}
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatUint(n, 10) + " " + noun + "s"
}
