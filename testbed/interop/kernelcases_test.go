//go:build interopkernel

package interop_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
	"skyring/testbed/interop"
	"skyring/testbed/link"
)

// mode is a way to a kernel.
type mode struct {
	name string
	how  how
}

func modes() []mode {
	return []mode{{"UDP through NAT", how{nat: true}}, {"UDP on cables", how{}}, {"IP on cables", how{native: true}}}
}

// kernelCase is a trial in every mode that it is fit for.
type kernelCase struct {
	name   string
	test   func(trial)
	who    side                    // empty: both
	cables int                     // 0: one, or NAT
	fit    func(h how) (how, bool) // nil: all modes as they are
	setup  []string                // of the machine
}

// onCables is for cases that NAT cannot have, overNAT for those that only NAT can.
func onCables(h how) (how, bool) { return h, !h.nat }
func overNAT(h how) (how, bool)  { return h, h.nat }

// onIPv6 has no NAT: qemu's forwards no UDP over IPv6.
func onIPv6(h how) (how, bool) {
	h.ipv6 = true
	return h, !h.nat
}

func kernelCases() []kernelCase {
	return slices.Concat(sharedCases(), ownCases())
}

// sharedCases are those that usrsctp is held to as well.
func sharedCases() []kernelCase {
	return []kernelCase{
		{name: "thousand messages", test: thousandMessages},
		{name: "unordered", test: unordered},
		{name: "long messages", test: longMessages},
		{name: "peer echoes", test: peerEchoes},
		{name: "peer shuts down", test: peerShutsDown},
		{name: "we shut down", test: weShutDown},
		{name: "peer aborts", test: peerAborts},
		{name: "we abort", test: weAbort},
		{name: "streams are agreed", test: streamsAreAgreed},
		{name: "idle", test: idle},
		{name: "peer is refused", test: peerIsRefused, who: peerDials},
		{name: "we are refused", test: weAreRefused, who: weDial},
		{name: "client is killed and comes back", test: peerClientIsKilledAndComesBack, who: peerDials},
		{name: "server is killed and comes back", test: peerServerIsKilledAndComesBack, who: weDial},
		{name: "we are killed and come back", test: weAreKilledAndComeBack, who: weDial},
		{name: "IPv6", test: func(on trial) { exchange(on, setting{}, batch{count: 100, streams: 4, size: 2000, ppid: 60}) }, fit: onIPv6},
		{name: "three addresses", test: multihomedInit, cables: 3, fit: onCables},
		{name: "failover", test: func(on trial) { multihomedFailover(on, "eth0", "eth1") }, cables: 2, fit: onCables},
	}
}

// ownCases are those that only a kernel's peer can do, or that are its habits.
func ownCases() []kernelCase {
	everything := []string{
		"sysctl -q -w net.sctp.auth_enable=1 net.sctp.addip_enable=1 net.sctp.reconf_enable=1 net.sctp.intl_enable=1 " +
			"net.sctp.ecn_enable=1 net.sctp.plpmtud_probe_interval=5000",
		"ip address add 10.99.0.1/24 dev eth0",
	}
	return []kernelCase{
		{name: "all extensions", test: allExtensions, setup: everything},
		{name: "IPv4 on an IPv6 socket", test: mappedAddress, who: peerDials},
		{name: "early data", test: earlyData, who: peerDials},
		{name: "forty associations", test: fortyAssociations, who: peerDials},
		{name: "third is refused", test: thirdIsRefused, who: peerDials},
		{name: "loss", test: loss},
		{name: "peer is gone", test: peerIsGone, who: peerDials},
		{name: "bulk", test: bulk, who: peerDials},
		{name: "NAT moves", test: natMoves, who: peerDials, fit: overNAT},
	}
}

// TestKernel holds the transport to interoperate with the kernel's SCTP.
func TestKernel(t *testing.T) {
	t.Parallel()
	if _, err := image(); err != nil {
		t.Fatal(err)
	}
	for _, way := range modes() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range kernelCases() {
				how, fits := c.how(way.how)
				if !fits {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, how)
				})
			}
		})
	}
}

// how is how packets travel in the case, and whether it can be had at all.
func (c kernelCase) how(h how) (how, bool) {
	if c.fit == nil {
		return h, true
	}
	return c.fit(h)
}

func (c kernelCase) run(t *testing.T, way how) {
	t.Helper()
	for _, who := range []side{peerDials, weDial} {
		if c.who != "" && c.who != who {
			continue
		}
		t.Run(string(who), func(t *testing.T) {
			t.Parallel()
			c.test(trial{T: t, who: who, lab: newKernelLab(t, max(c.cables, 1), way, c.setup)})
		})
	}
}

// allExtensions has the kernel offer all that it can: AUTH, ASCONF, RECONFIG, I-DATA, ECN, path MTU probes, a second address
// and all streams.
func allExtensions(on trial) {
	t := on.T
	m := meet(on, setting{peer: func(o *interop.Options) { o.Streams = 65_535 }})
	messages := collect(t, m.ours)
	m.both(t, messages, batch{count: 200, streams: 16, size: 3000, ppid: 60})
	select {
	case <-time.After(12 * time.Second): // path MTU probes every 5 s
	case <-m.ours.Done():
		t.Fatalf("ended: %v", m.ours.Err())
	}
	m.both(t, messages, batch{count: 200, streams: 16, size: 3000, ppid: 60})
}

// mappedAddress has the peer dial an IPv4 address from an IPv6 socket.
func mappedAddress(on trial) {
	exchange(on, setting{peer: func(o *interop.Options) { o.Connect = netip.AddrFrom16(o.Connect.As16()) }},
		batch{count: 100, streams: 4, size: 2000, ppid: 60})
}

// earlyData comes in the packet of the COOKIE-ECHO.
func earlyData(on trial) {
	t := on.T
	m := meet(on, setting{peer: func(o *interop.Options) { o.Early = true }})
	messages := collect(t, m.ours)
	select {
	case got := <-messages:
		if len(got.Payload) != 100 || binary.BigEndian.Uint32(got.Payload) != 0 || got.PPID != 60 {
			t.Errorf("%d bytes with PPID %d came first", len(got.Payload), got.PPID)
		}
	case <-time.After(patience):
		t.Fatal("no message came")
	}
	if _, early := m.tap.oddities(); early == 0 {
		t.Error("no packet had a COOKIE-ECHO and data: this shows nothing")
	}
	m.both(t, messages, batch{count: 100, streams: 4, size: 100, ppid: 60})
}

// echo sends all back that comes on an association.
func echo(t *testing.T, a *transport.Association) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Receive(context.Background(), func(got transport.Message) { _ = a.Send(context.Background(), got) })
	}()
	t.Cleanup(func() { a.Abort("test over"); <-done })
}

// fortyAssociations come from one UDP port.
func fortyAssociations(on trial) {
	t := on.T
	const n = 40
	m := prepare(on, setting{peer: func(o *interop.Options) { o.Associations, o.Quiet = n, true }})
	p := on.lab.start(t, m.options)
	for range n {
		echo(t, accept(t, m.endpoint))
		p.expect("up")
	}
	p.tell("echo 50 8 128")
	if e := p.expect("echoed"); e.Word(0) != "2000" {
		t.Errorf("%s", e)
	}
}

// thirdIsRefused has room for two associations.
func thirdIsRefused(on trial) {
	m := prepare(on, setting{
		cfg:  func(c *transport.Config) { c.MaxAssociations, c.MaxAssociationsPerSource = 2, 2 },
		peer: func(o *interop.Options) { o.Associations = 3 },
	})
	p := on.lab.start(on.T, m.options)
	p.expect("up")
	p.expect("up")
	p.expect("refused")
}

// lose loses a share of the packets each way from now on.
func (l *tap) lose(share float64, seed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loss, l.dice = share, rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // to be repeated
}

// oddities are how many packets were lost, and how many came with data behind a COOKIE-ECHO.
func (l *tap) oddities() (lost, early int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped, l.early
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

// peerIsGone has a machine lose its power, and stay without.
func peerIsGone(on trial) {
	m := meet(on, setting{cfg: func(c *transport.Config) { c.HeartbeatInterval, c.MaxMissedHeartbeats = time.Second, 5 }})
	m.peer.Kill()
	if why := ended(on.T, m.ours); why.Reason != transport.PathFailed {
		on.Errorf("ended with %v", &why)
	}
}

// bulk echoes long messages, then many.
func bulk(on trial) {
	t := on.T
	m := meet(on, setting{peer: func(o *interop.Options) { o.Quiet = true }})
	echo(t, m.ours)
	m.peer.tell("echo 300 8 16000")
	if e := m.peer.expect("echoed"); e.Word(0) != "300" {
		t.Errorf("%s", e)
	}
	m.peer.tell("echo 5000 64 128")
	if e := m.peer.expect("echoed"); e.Word(0) != "5000" {
		t.Errorf("%s", e)
	}
}

// natMoves has a NAT forget the peer's port twice, in mid-association.
func natMoves(on trial) {
	t := on.T
	m := meet(on, setting{terms: link.Direction{Delay: time.Millisecond}})
	messages := collect(t, m.ours)
	b := batch{count: 100, streams: 4, size: 300, ppid: 60}
	for range 3 {
		m.both(t, messages, b)
		m.link.Rebind()
	}
	m.toUs(t, messages, b)
	if in, _ := m.tap.seen(packet.TypeAbort); in > 0 {
		t.Errorf("%d ABORTs", in)
	}
	if m.endpoint.Stats().Count(transport.Rebinds) == 0 {
		t.Error("no port changed: this shows nothing")
	}
}
