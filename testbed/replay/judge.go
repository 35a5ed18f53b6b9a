package replay

import (
	"fmt"

	"skyring/testbed/trace"
)

// maxSentences is how many failed associations are told of.
const maxSentences = 20

// judge sums the rounds up by their receipts, and computes what the store must hold.
func (r *Replay) judge(rounds []*round) (*Verdict, *expectation) {
	v := &Verdict{
		PPID:       make(map[uint32]uint64),
		Nodes:      make(map[string]uint64),
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
		v.Latency = one.latencies.summary()
		seconds += one.took().Seconds()

		for _, p := range one.players {
			counts := p.journal.counts()
			sum.add(counts)
			want.association(p.journal)
			v.countMessages(p.journal)

			v.Associations++
			folded += p.folded

			if p.err != nil {
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
	v.rate()

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

func (v *Verdict) rate() {
	if v.Seconds > 0 {
		v.MessagesPerSecond = float64(v.Acknowledged) / v.Seconds
	}
}

// withoutLedger is for a replay that was given no store.
func (v *Verdict) withoutLedger() {
	if v.Receipts {
		v.Warnings = append(v.Warnings, "the ledger was not compared: no state store was named")

		return
	}

	v.Errors = append(v.Errors, "the target sends no receipts and no state store was named: nothing can be judged")
}

// withLedger adds what the store says.
func (v *Verdict) withLedger(o *observation, c *comparison) {
	v.Ledger = true
	v.LedgerDiffers = c.differing
	v.Differences = c.sentences
	v.Nodes = o.nodes
	v.Errors = append(v.Errors, o.faults...)

	if v.Receipts {
		return
	}

	v.Acknowledged, v.Lost, v.Doubled = c.present, v.Sent-c.present, c.surplus
	v.Warnings = append(v.Warnings, "the target sends no receipts: the ledger alone judged, order by its chains, and there is no latency")
	v.rate()
}
