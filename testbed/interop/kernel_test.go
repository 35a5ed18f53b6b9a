//go:build interopkernel

package interop_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"skyring/testbed/interop"
	"skyring/testbed/interop/kernel"
)

// image builds what the machines boot, once.
var image = sync.OnceValues(func() (*kernel.Image, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(built.dir, "kernel-")
	if err != nil {
		return nil, err
	}
	return kernel.Build(ctx, dir)
})

// boot starts a machine that is killed when the test ends.
func boot(t *testing.T, m kernel.Machine, o interop.Options) *peer {
	t.Helper()
	i, err := image()
	if err != nil {
		t.Fatal(err)
	}
	m.Dir = t.TempDir()
	p, err := i.Start(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			console, _ := os.ReadFile(m.Console())
			t.Logf("the machine's console:\n%sqemu:\n%s", console, p.Complaints())
		}
	})
	return &peer{Peer: p, t: t}
}

// natLab has a machine behind qemu's own NAT, and us on loopback.
type natLab struct{ setup []string }

func (l natLab) listen(t *testing.T, at netip.AddrPort) *tap {
	t.Helper()
	return loopbackLab("127.0.0.1").listen(t, at)
}

func (l natLab) peer(t *testing.T) (interop.Options, netip.AddrPort) {
	t.Helper()
	// The machine's port of the encapsulation is the same as that of the NAT here.
	o := interop.Options{UDP: freePort(t)}
	return o, netip.AddrPortFrom(loopback("127.0.0.1").Addr(), o.UDP)
}

func (l natLab) start(t *testing.T, o interop.Options) *peer {
	t.Helper()
	cable := kernel.NAT()
	cable.Forward, cable.To = o.UDP, o.UDP
	return boot(t, kernel.Machine{Cables: []kernel.Cable{cable}, Setup: l.setup}, o)
}

func (l natLab) seen(ours netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(kernel.NAT().Gateway, ours.Port())
}

func (l natLab) cause() string { return kernelCause }

// kernelCause is what a kernel says in an ABORT, whatever the program may want.
const kernelCause = "user initiated abort (12)"

// cableLab has a machine at the other end of cables from a control centre, which is a network namespace of the test's own.
type cableLab struct {
	centre string
	cables int
	setup  []string
	how    how
}

// how packets travel.
type how struct {
	nat    bool // through qemu's NAT; else on cables
	native bool // as IP protocol 132; else in UDP
	ipv6   bool
}

// newKernelLab makes a lab for a test.
func newKernelLab(t *testing.T, cables int, way how, setup []string) lab { //nolint:ireturn // of either kind
	t.Helper()
	if way.nat {
		return natLab{setup: setup}
	}
	l := newCableLab(t, cables, way)
	l.setup = setup
	return l
}

// newCableLab makes the namespace, which is gone when the test ends. It needs root.
func newCableLab(t *testing.T, cables int, way how) *cableLab {
	t.Helper()
	l := &cableLab{centre: fmt.Sprintf("skyring-k%d-%d", os.Getpid(), lastPort.Add(1)), cables: cables, how: way}
	ip(t, "netns", "add", l.centre)
	t.Cleanup(func() { ip(t, "netns", "delete", l.centre) })
	ip(t, "-n", l.centre, "link", "set", "lo", "up")
	for n := 1; n <= cables; n++ {
		tap := fmt.Sprintf("tap%d", n)
		ip(t, "-n", l.centre, "tuntap", "add", tap, "mode", "tap")
		ip(t, "-n", l.centre, "address", "add", centreAddr(n).String()+"/24", "dev", tap)
		ip(t, "-n", l.centre, "address", "add", six(centreAddr(n)).String()+"/64", "dev", tap, "nodad")
		ip(t, "-n", l.centre, "link", "set", tap, "up")
	}
	return l
}

// six is the IPv6 address that goes with an address of a cable: fd77:0:0:N::1 and 2.
func six(a netip.Addr) netip.Addr {
	four := a.As4()
	return netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x77, 7: four[2], 15: four[3]})
}

// at is an address of ours or the machine's as it is in this lab.
func (l *cableLab) at(a netip.Addr) netip.AddrPort {
	if l.how.ipv6 {
		a = six(a)
	}
	if l.how.native {
		return netip.AddrPortFrom(a, 0)
	}
	return netip.AddrPortFrom(a, encapsulation)
}

func (l *cableLab) listen(t *testing.T, at netip.AddrPort) *tap {
	t.Helper()
	if !at.IsValid() {
		at = l.at(centreAddr(1))
	}
	return listenWithin(t, l.centre, at)
}

func (l *cableLab) peer(*testing.T) (interop.Options, netip.AddrPort) {
	at := l.at(stationAddr(1))
	o := interop.Options{UDP: at.Port()}
	if l.how.ipv6 {
		o.Bind = []netip.Addr{netip.IPv6Unspecified()}
	}
	return o, at
}

func (l *cableLab) start(t *testing.T, o interop.Options) *peer {
	t.Helper()
	m := kernel.Machine{Namespace: l.centre, Setup: l.setup}
	for n := 1; n <= l.cables; n++ {
		m.Cables = append(m.Cables, kernel.Cable{Tap: fmt.Sprintf("tap%d", n), Addresses: []netip.Prefix{
			netip.PrefixFrom(stationAddr(n), 24), netip.PrefixFrom(six(stationAddr(n)), 64),
		}})
	}
	return boot(t, m, o)
}

func (l *cableLab) seen(ours netip.AddrPort) netip.AddrPort { return ours }
func (l *cableLab) cause() string                           { return kernelCause }
