package generate

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"skyring/testbed/trace"
)

// step is one user message that an endpoint sends.
type step struct {
	at        time.Duration // since Config.Start
	direction trace.Direction
	stream    uint16
	unordered bool
	ppid      uint32
	payload   []byte
}

// signalling is a protocol's traffic on one association.
type signalling struct {
	opening func() []step           // what is exchanged before the first session
	session func(number int) []step // one call, subscriber or transaction, in time from its own start; numbers grow from 0
}

// protocol describes the associations of one protocol.
type protocol struct {
	name    string
	port    uint16 // of the server
	streams uint16
	start   func(*rand.Rand, Config, int) signalling
}

// protocols take turns over the associations.
func protocols() []protocol {
	return []protocol{
		{name: "S1AP", port: 36412, streams: 4, start: newS1AP},
		{name: "M3UA", port: 2905, streams: 8, start: newM3UA},
		{name: "NGAP", port: 38412, streams: 4, start: newNGAP},
		{name: "Diameter", port: 3868, streams: 2, start: newDiameter},
		{name: "H.248", port: 2944, streams: 2, start: newH248},
		{name: "private", port: 9899, streams: 6, start: newPrivate},
	}
}

// Protocols names the protocols in the order in which associations take them, over and over.
func Protocols() []string {
	var names []string
	for _, p := range protocols() {
		names = append(names, p.name)
	}
	return names
}

// schedule draws the sessions of an association as a Poisson process over the duration, until the budget of messages is
// spent, and gives their steps in time order.
func schedule(rng *rand.Rand, cfg Config, signals signalling, budget int) []step {
	steps := signals.opening()
	var sessions [][]step
	total := len(steps)
	for number := 0; total < budget; number++ {
		session := signals.session(number)
		sessions = append(sessions, session)
		total += len(session)
	}
	begin := time.Duration(0)
	for _, s := range steps {
		begin = max(begin, s.at)
	}
	mean := cfg.Duration / time.Duration(len(sessions)+1)
	for _, session := range sessions {
		begin += exponential(rng, mean)
		for _, s := range session {
			s.at += begin
			steps = append(steps, s)
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps
}

// dialogue builds a session step by step, each some time after the one before.
type dialogue struct {
	at    time.Duration
	steps []step
}

func (d *dialogue) send(after time.Duration, s step) {
	d.at += after
	s.at = d.at
	d.steps = append(d.steps, s)
}
