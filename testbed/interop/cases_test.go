package interop_test

import (
	"math/rand/v2"
	"testing"
)

// testCase is a trial that every peer is held to, in any lab that has what it needs.
type testCase struct {
	name   string
	test   func(trial)
	who    side // empty: both, one after the other
	cables int  // that there must be, with devices of their own at the peer; 0: any way will do
	ipv6   bool // between IPv6 addresses
}

// cases are all that usrsctp is held to over IP, and kernels in every mode.
func cases() []testCase {
	return []testCase{
		{name: "thousand messages", test: thousandMessages},
		{name: "unordered", test: unordered},
		{name: "long messages", test: longMessages},
		{name: "loss", test: loss},
		{name: "peer echoes", test: peerEchoes},
		{name: "peer shuts down", test: peerShutsDown},
		{name: "we shut down", test: weShutDown},
		{name: "peer aborts", test: peerAborts},
		{name: "we abort", test: weAbort},
		{name: "streams are agreed", test: streamsAreAgreed},
		{name: "peer is refused", test: peerIsRefused, who: peerDials},
		{name: "we are refused", test: weAreRefused, who: weDial},
		{name: "client is killed and comes back", test: peerClientIsKilledAndComesBack, who: peerDials},
		{name: "server is killed and comes back", test: peerServerIsKilledAndComesBack, who: weDial},
		{name: "we are killed and come back", test: weAreKilledAndComeBack, who: weDial},
		{name: "IPv6", test: twoKilobytes, ipv6: true},
		{name: "three addresses", test: multihomedInit, cables: 3},
		{name: "failover", test: multihomedFailover, cables: 2},
	}
}

// run runs the case for who may dial, each in a lab of its own.
func (c testCase) run(t *testing.T, needed func(*testing.T) lab) {
	t.Helper()
	t.Parallel()
	for _, who := range []side{peerDials, weDial} {
		if c.who != "" && c.who != who {
			continue
		}
		t.Run(string(who), func(t *testing.T) {
			t.Parallel()
			c.test(trial{T: t, who: who, lab: needed(t)})
		})
	}
}

// lose loses a share of the packets each way from now on.
func (l *tap) lose(share float64, seed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loss, l.dice = share, rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // to be repeated
}

// loss loses a packet in twenty each way, before us.
func loss(on trial) {
	t := on.T
	m := meet(on, setting{})
	m.tap.lose(0.05, 1)
	m.both(t, collect(t, m.ours), batch{count: 1000, streams: 4, size: 600, ppid: 60})
	if lost, _ := m.tap.oddities(); lost == 0 {
		t.Error("nothing was lost: this shows nothing")
	}
}

// oddities are how many packets were lost, and how many came with data behind a COOKIE-ECHO.
func (l *tap) oddities() (lost, early int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped, l.early
}
