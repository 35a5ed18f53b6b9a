package interop_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
	"skyring/testbed/interop"
)

// site is two network namespaces of the test's own, one for a station and one for a control centre, with a cable for each
// pair of addresses between them. It is a lab whose peers are in the station.
type site struct{ station, centre string }

// cable is what the two ends of one are called: 10.77.N.1 is the centre's, 10.77.N.2 the station's.
func centreAddr(cable int) netip.Addr  { return netip.AddrFrom4([4]byte{10, 77, byte(cable), 1}) }
func stationAddr(cable int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, byte(cable), 2}) }

// newSite makes the namespaces; they are gone when the test ends. It needs root.
func newSite(t *testing.T, cables int) site {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("network namespaces need root")
	}
	tag := fmt.Sprintf("%d-%d", os.Getpid(), lastPort.Add(1))
	s := site{station: "skyring-s" + tag, centre: "skyring-c" + tag}
	for _, name := range []string{s.station, s.centre} {
		ip(t, "netns", "add", name)
		t.Cleanup(func() { ip(t, "netns", "delete", name) })
		ip(t, "-n", name, "link", "set", "lo", "up")
	}
	for n := 1; n <= cables; n++ {
		name := fmt.Sprintf("cable%d", n)
		ip(t, "-n", s.centre, "link", "add", name, "type", "veth", "peer", "name", name, "netns", s.station)
		for in, at := range map[string]netip.Addr{s.centre: centreAddr(n), s.station: stationAddr(n)} {
			ip(t, "-n", in, "address", "add", at.String()+"/24", "dev", name)
			ip(t, "-n", in, "link", "set", name, "up")
		}
	}
	return s
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// inside runs a command of the peer in a namespace.
func inside(name string) []string { return []string{"ip", "netns", "exec", name} }

// within calls what opens a socket on a thread that has moved to a namespace; the thread ends with the call, the socket
// stays where it was opened.
func within(t *testing.T, name string, open func() error) {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: no other goroutine may run in the namespace
		failed <- func() error {
			file, err := os.Open("/run/netns/" + name)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return open()
		}()
	}()
	if err := <-failed; err != nil {
		t.Fatalf("in namespace %s: %v", name, err)
	}
}

const encapsulation = 9899 // IANA's UDP port; in a namespace of its own everybody can have it

func (s site) listen(t *testing.T, at netip.AddrPort) *tap {
	t.Helper()
	if !at.IsValid() {
		at = netip.AddrPortFrom(centreAddr(1), encapsulation)
	}
	return listenWithin(t, s.centre, at)
}

// listenWithin opens a link in a namespace: UDP, or IP when the address has no port.
func listenWithin(t *testing.T, name string, at netip.AddrPort) *tap {
	t.Helper()
	allow := []netip.Prefix{netip.MustParsePrefix("10.77.0.0/16"), netip.MustParsePrefix("fd77::/16")}
	var opened transport.Link
	within(t, name, func() (err error) {
		if at.Port() == 0 {
			opened, err = transport.ListenIP(at.Addr(), allow...)
		} else {
			opened, err = transport.ListenUDP(at, allow...)
		}
		return err
	})
	return &tap{Link: opened}
}

func (s site) peer(*testing.T) (interop.Options, netip.AddrPort) {
	return interop.Options{UDP: encapsulation, Prefix: inside(s.station)}, netip.AddrPortFrom(stationAddr(1), encapsulation)
}

func (s site) start(t *testing.T, o interop.Options) *peer {
	t.Helper()
	return startPeer(t, o)
}

func (s site) seen(ours netip.AddrPort) netip.AddrPort { return ours }
func (s site) cause() string                           { return loopbackLab("").cause() }

const paramIPv4 = 5 // of INIT

// TestMultihomedInit meets a station that has three addresses, and says so in its INIT or INIT-ACK.
func TestMultihomedInit(t *testing.T) {
	bothSides(t, func(on trial) {
		on.lab = newSite(on.T, 3)
		multihomedInit(on)
	})
}

func multihomedInit(on trial) {
	t := on.T
	m := meet(on, setting{})
	if n := m.tap.offered(paramIPv4); n != 3 {
		t.Errorf("%d addresses in INIT or INIT-ACK, the station has 3", n)
	}
	m.both(t, collect(t, m.ours), batch{count: 200, streams: 4, size: 500, ppid: 60})
	if in, _ := m.tap.seen(packet.TypeAbort); in > 0 {
		t.Errorf("%d ABORTs", in)
	}
}
