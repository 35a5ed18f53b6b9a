//go:build interopkernel

package interop_test

import (
	"context"
	"encoding/binary"
	"net/netip"
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
	nat  bool // UDP through qemu's NAT; else on cables, and then how
	how  how
}

func modes() []mode {
	return []mode{{name: "UDP through NAT", nat: true}, {name: "UDP on cables"}, {name: "IP on cables", how: how{native: true}}}
}

// fits says whether a case can be had that way. qemu's NAT has one device, and forwards no UDP over IPv6.
func (m mode) fits(c kernelCase) bool {
	if m.nat {
		return c.cables == 0 && !c.ipv6
	}
	return !c.overNAT
}

// labs makes a lab for each test of a case.
func (m mode) labs(c kernelCase) func(*testing.T) lab {
	return func(t *testing.T) lab {
		t.Helper()
		if m.nat {
			return natLab{setup: c.setup}
		}
		way := m.how
		way.ipv6 = c.ipv6
		l := newCableLab(t, max(c.cables, 1), way)
		l.setup = c.setup
		return l
	}
}

// kernelCase is a trial in every mode that it fits.
type kernelCase struct {
	testCase

	overNAT bool     // only
	setup   []string // of the machine
}

// kernelCases are all: those that usrsctp is held to as well, and those that only a kernel's peer can do, or that are its habits.
func kernelCases() []kernelCase {
	var all []kernelCase
	for _, c := range cases() {
		all = append(all, kernelCase{testCase: c})
	}
	for _, c := range ownCases() {
		all = append(all, kernelCase{testCase: c})
	}
	everything := []string{
		"sysctl -q -w net.sctp.auth_enable=1 net.sctp.addip_enable=1 net.sctp.reconf_enable=1 net.sctp.intl_enable=1 " +
			"net.sctp.ecn_enable=1 net.sctp.plpmtud_probe_interval=5000",
		"ip address add 10.99.0.1/24 dev eth0",
	}
	return append(all,
		kernelCase{testCase: testCase{name: "all extensions", test: allExtensions}, setup: everything},
		kernelCase{testCase: testCase{name: "NAT moves", test: natMoves, who: peerDials}, overNAT: true})
}

func ownCases() []testCase {
	return []testCase{
		{name: "idle", test: func(on trial) { idle(on) }},
		{name: "IPv4 on an IPv6 socket", test: mappedAddress, who: peerDials},
		{name: "early data", test: earlyData, who: peerDials},
		{name: "forty associations", test: fortyAssociations, who: peerDials},
		{name: "third is refused", test: thirdIsRefused, who: peerDials},
		{name: "peer is gone", test: peerIsGone, who: peerDials},
		{name: "bulk", test: bulk, who: peerDials},
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
				if !way.fits(c) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					c.run(t, way.labs(c))
				})
			}
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
