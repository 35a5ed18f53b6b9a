package replay

import (
	"context"
	"errors"
	"fmt"

	"skyring/testbed/trace"
)

// maxSentences is how many failed associations are told of.
const maxSentences = 20

// judge sums the rounds up by their receipts, and computes what the store must hold.
func (r *Replay) judge(rounds []*round) (*Verdict, *expectation) {
	v := &Verdict{
		PPID:       make(map[uint32]uint64),
		lostByPPID: make(map[uint32]uint64),
	}
	want := newExpectation()

	var (
		sum            tally
		folded, failed uint64
		seconds        float64
	)

	for _, one := range rounds {
		v.Receipts = v.Receipts || one.judgedByReceipts()
		seconds += one.took().Seconds()

		for _, p := range one.players {
			counts := p.journal.counts()
			sum.add(counts)
			want.association(p.journal)
			v.countMessages(p.journal)

			v.Associations++
			folded += p.folded

			if p.err != nil && !errors.Is(p.err, context.Canceled) { // that is an interrupted replay
				failed++
				v.failure(p, counts, failed)
			}
		}
	}

	v.Sent, v.Acknowledged, v.Doubled, v.OutOfOrder = sum.sent, sum.acknowledged, sum.doubled, sum.outOfOrder
	v.Unsent, v.Quarantined, v.Unexpected, v.Replies = sum.unsent, sum.quarantined, sum.unexpected, sum.replies
	v.Lost = v.Sent - v.Acknowledged
	v.Sessions = want.sessions.count()
	v.Seconds = seconds

	if v.Receipts {
		v.measure(rounds)
	}

	if failed > maxSentences {
		v.Errors = append(v.Errors, fmt.Sprintf("... and %s more failed", plural(failed-maxSentences, "association")))
	}

	if folded > 0 {
		v.Warnings = append(v.Warnings, plural(folded, "message")+
			" went on another stream than captured: the target grants fewer streams, so ids are folded into them")
	}

	if sum.stale > 0 {
		v.Warnings = append(v.Warnings, plural(sum.stale, "receipt")+" said that the message was committed before and its reply is not kept any more")
	}

	return v, want
}

func (v *Verdict) countMessages(j *journal) {
	j.delivered(func(m *trace.Message, _ uint16, answered bool) {
		v.PPID[m.PPID]++

		if !answered {
			v.lostByPPID[m.PPID]++
		}
	})
}

// failure tells of an association that failed.
func (v *Verdict) failure(p *player, counts tally, failed uint64) {
	if failed > maxSentences {
		return
	}

	v.Errors = append(v.Errors, fmt.Sprintf("%s: %v; of %s %d were not sent, %d of those sent have no receipt",
		p.station.name, p.err, plural(uint64(len(p.station.messages)), "message"), counts.unsent, counts.sent-counts.acknowledged))
}

// unplayed tells of rounds that were left out.
func (v *Verdict) unplayed(played, wanted int) {
	if played < wanted {
		v.Errors = append(v.Errors, fmt.Sprintf("in round %d of %d no association could be opened: the target is away, the other rounds were left out", played, wanted))
	}
}

// measure takes what only receipts tell.
func (v *Verdict) measure(rounds []*round) {
	for _, one := range rounds {
		v.Latency = one.latencies.summary()
	}

	if v.Seconds > 0 {
		rate := float64(v.Acknowledged) / v.Seconds
		v.MessagesPerSecond = &rate
	}
}

// interrupted is for a replay that was ended before its end: what has no receipt may have one coming.
func (v *Verdict) interrupted() {
	v.unanswered()
	v.incomplete("the replay was interrupted")
}

// unanswered says that nobody knows what became of the messages without a receipt.
func (v *Verdict) unanswered() { v.Lost, v.Unanswered = 0, v.Sent-v.Acknowledged }

// unreadable is for a store that cannot be compared to the end.
func (v *Verdict) unreadable(err error) {
	if !v.Receipts {
		v.unanswered()
	}

	if errors.Is(err, context.Canceled) {
		v.incomplete("the replay was interrupted before the ledger was compared")
	} else {
		v.incomplete("the ledger could not be compared")
	}
}

// withoutLedger is for a replay that was given no store.
func (v *Verdict) withoutLedger() {
	if v.Receipts {
		v.Warnings = append(v.Warnings, "the ledger was not compared: no state store was named")

		return
	}

	v.unanswered()
	v.Judgement = Unknown
	v.Reason = "no receipt came from the target and no state store was named: name its Redis (--redis), or have it send receipts (--receipts)"
}

// withLedger adds what the store says.
func (v *Verdict) withLedger(o *observation, c *comparison) {
	v.Ledger = true
	v.LedgerDiffers = c.differing
	v.Differences = c.sentences
	v.Nodes = o.nodes
	v.Errors = append(v.Errors, o.faults...)

	if c.foreign.count > 0 {
		v.Warnings = append(v.Warnings, fmt.Sprintf("the store also holds %s of other associations, which are none of this replay's", c.foreign))
	}

	if v.Receipts {
		return
	}

	v.Acknowledged, v.Lost, v.Doubled = c.present, v.Sent-c.present, c.surplus
	v.Warnings = append(v.Warnings, "the target sends no receipts: the ledger alone judged, order by its chains, and there is no latency")
}
