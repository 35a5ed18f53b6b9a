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

// newCableLab makes the namespace, which is gone when the test ends. It needs root.
func newCableLab(t *testing.T, cables int, way how) *cableLab {
	t.Helper()
	l := &cableLab{centre: fmt.Sprintf("skyring-k%d-%d", os.Getpid(), lastPort.Add(1)), cables: cables, how: way}
	newNamespace(t, l.centre)
	for n := 1; n <= cables; n++ {
		tap := fmt.Sprintf("tap%d", n)
		ip(t, "-n", l.centre, "tuntap", "add", tap, "mode", "tap")
		plug(t, l.centre, tap, centreAddr(n))
	}
	return l
}

func (l *cableLab) listen(t *testing.T, at netip.AddrPort) *tap {
	t.Helper()
	if !at.IsValid() {
		at = l.how.at(centreAddr(1))
	}
	return listenWithin(t, l.centre, at)
}

func (l *cableLab) peer(*testing.T) (interop.Options, netip.AddrPort) {
	at := l.how.at(stationAddr(1))
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
