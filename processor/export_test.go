package processor

import (
	"time"

	"skyring/protocol/bus"
	"skyring/statestore"
)

// Rules that a test may switch off, to show what they protect from.
const (
	MarkRule   = markRule
	ExpiryRule = expiryRule
)

// Without switches a rule off, before Run.
func (p *Processor) Without(r rule) { p.engine.without = r }

// Judgement is one run of the engine.
type Judgement struct {
	Handlers  Handlers
	Record    *statestore.Record
	FromHint  bool
	Now       int64
	Longest   int64
	Condemned bool
	Envelopes []bus.Envelope
}

// Verdict is what it said.
type Verdict struct {
	Reread  bool
	Record  *statestore.Record
	Expiry  int64
	Answers []bus.Answer
	Faults  int
}

// Judge runs the engine.
func Judge(j Judgement) Verdict {
	in := input{
		key: []byte("key"), record: j.Record, known: fromStore, now: j.Now,
		condemned: func(failureID) bool { return j.Condemned },
	}
	for i := range j.Envelopes {
		in.envelopes = append(in.envelopes, &j.Envelopes[i])
	}
	if j.FromHint {
		in.known = fromHint
	}
	o := engine{handlers: j.Handlers, node: "node", longest: j.Longest}.run(in)
	return Verdict{Reread: o.reread, Record: o.record, Expiry: o.expiry, Answers: o.answers, Faults: len(o.faults)}
}

// Meter measures load.
type Meter struct{ meter *meter }

// NewMeter starts at a time.
func NewMeter(now time.Time) Meter { return Meter{newMeter(now)} }

// Begin notes messages that came.
func (m Meter) Begin(n int, now time.Time) { m.meter.begin(n, now) }

// End notes messages that are answered.
func (m Meter) End(n int, arrived, now time.Time) { m.meter.end(n, arrived, now) }

// Reading is the load since the last one.
func (m Meter) Reading(now time.Time) (rate, response uint32) { return m.meter.reading(now) }

// Quiet tells for how long there was nothing to do.
func (m Meter) Quiet(now time.Time) time.Duration { return m.meter.quiet(now) }
