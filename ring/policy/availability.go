package policy

import (
	"time"

	"skyring/ring"
)

// availability gives each node a turn, but those whose circuit breaker is open: 3 failures in a row open it, for 10 s from the last of
// them, which double with each further one up to 30 s.
//
// Source: Netflix Ribbon, AvailabilityFilteringRule, with the defaults of its ServerStats.
//
// Readings: Ribbon counts connections that failed; here it is messages that were not answered in time. The time of the last failure is that of the report in
// which their number grew. Its limit on active requests has no bound by default: that of the node's state stands for it.
// Ribbon tries the next server up to eleven times and then goes round those that are left; here those that are filtered out are passed over at once.
// All filtered out: Ribbon names no server. So it is with IgnoreLimits; with RespectLimits it is the best weight of the open ones, then the last resort.
type availability struct {
	roster

	at      int // whose turn it is
	now     time.Duration
	failed  []time.Duration // when the last failure was
	tripped []bool
}

// Ribbon's defaults.
const (
	tripFailures = 3
	tripTime     = 10 * time.Second
	tripLongest  = 30 * time.Second
)

func availabilityEntry() entry {
	return entry{
		Description: Description{
			Name:    "availability",
			Summary: "each node in turn but those that failed three times in a row, for 10 to 30 s",
			Source:  "Netflix Ribbon, AvailabilityFilteringRule",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			return &availability{
				roster:  newRoster(nodes, o),
				failed:  make([]time.Duration, len(nodes)),
				tripped: make([]bool, len(nodes)),
			}, nil
		},
	}
}

// SetState implements Policy.
func (p *availability) SetState(i int, s ring.State) {
	p.members.SetState(i, s)
	p.note(i)
}

// SetLoad implements Policy.
func (p *availability) SetLoad(i int, l Load) {
	p.members.SetLoad(i, l)
	p.note(i)
}

// SetReport implements Policy.
func (p *availability) SetReport(i int, r Report) {
	if r.ConsecutiveFailures > p.reports[i].ConsecutiveFailures {
		p.failed[i] = r.At
	}

	p.members.SetReport(i, r)
	p.judge(i)
}

// Tick implements Policy.
func (p *availability) Tick(now time.Duration) {
	p.now = now

	for i := range p.nodes {
		p.judge(i)
	}
}

// judge opens or closes a node's circuit breaker.
func (p *availability) judge(i int) {
	over := p.reports[i].ConsecutiveFailures
	if over < tripFailures {
		p.tripped[i] = false
	} else {
		pause := min(tripTime<<min(over-tripFailures, 16), tripLongest)
		p.tripped[i] = p.failed[i]+pause > p.now
	}

	p.note(i)
}

func (p *availability) note(i int) { p.able.put(i, !p.tripped[i] && p.usable(i, ring.NoNode)) }

// Pick implements Policy.
func (p *availability) Pick(q Query) ring.Choice {
	own := q.Avoid != ring.NoNode && p.able.has(q.Avoid)
	if p.able.count == 0 || p.able.count == 1 && own {
		return p.unserved(q.Avoid, own)
	}

	var c ring.Choice
	c, p.at = p.turn(p.at, q.Avoid)

	return c
}
