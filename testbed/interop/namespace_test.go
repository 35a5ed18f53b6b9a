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
	"time"

	"golang.org/x/sys/unix"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
	"skyring/testbed/interop"
)

// how packets travel between two network namespaces, or to a machine.
type how struct {
	native bool // as IP protocol 132; else in UDP
	ipv6   bool
}

// at is an address of ours or the station's as it is that way.
func (h how) at(a netip.Addr) netip.AddrPort {
	if h.ipv6 {
		a = six(a)
	}
	if h.native {
		return netip.AddrPortFrom(a, 0)
	}
	return netip.AddrPortFrom(a, encapsulation)
}

// A cable has two ends: 10.77.N.1 and fd77:0:0:N::1 are the centre's, 10.77.N.2 and fd77:0:0:N::2 the station's.
func centreAddr(cable int) netip.Addr  { return netip.AddrFrom4([4]byte{10, 77, byte(cable), 1}) }
func stationAddr(cable int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, byte(cable), 2}) }

// six is the IPv6 address that goes with an address of a cable.
func six(a netip.Addr) netip.Addr {
	four := a.As4()
	return netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x77, 7: four[2], 15: four[3]})
}

// site is two network namespaces of the test's own, one for a station and one for a control centre, with a cable for each
// pair of addresses between them. It is a lab whose peers are in the station, where cable 1 is eth0.
type site struct {
	station, centre string
	how             how
}

// newSite makes the namespaces; they are gone when the test ends. It needs root.
func newSite(t *testing.T, cables int, way how) site {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("network namespaces need root")
	}
	needPeer(t)
	tag := fmt.Sprintf("%d-%d", os.Getpid(), lastPort.Add(1))
	s := site{station: "skyring-s" + tag, centre: "skyring-c" + tag, how: way}
	for _, name := range []string{s.station, s.centre} {
		newNamespace(t, name)
	}
	for n := 1; n <= cables; n++ {
		here, there := fmt.Sprintf("cable%d", n), fmt.Sprintf("eth%d", n-1)
		ip(t, "-n", s.centre, "link", "add", here, "type", "veth", "peer", "name", there, "netns", s.station)
		plug(t, s.centre, here, centreAddr(n))
		plug(t, s.station, there, stationAddr(n))
	}
	return s
}

// newNamespace makes a network namespace, which is gone when the test ends.
func newNamespace(t *testing.T, name string) {
	t.Helper()
	ip(t, "netns", "add", name)
	t.Cleanup(func() { ip(t, "netns", "delete", name) })
	ip(t, "-n", name, "link", "set", "lo", "up")
}

// plug gives the device at an end of a cable its addresses.
func plug(t *testing.T, namespace, device string, at netip.Addr) {
	t.Helper()
	ip(t, "-n", namespace, "address", "add", at.String()+"/24", "dev", device)
	ip(t, "-n", namespace, "address", "add", six(at).String()+"/64", "dev", device, "nodad")
	ip(t, "-n", namespace, "link", "set", device, "up")
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
		at = s.how.at(centreAddr(1))
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
	at := s.how.at(stationAddr(1))
	o := interop.Options{UDP: at.Port(), Prefix: inside(s.station)}
	if s.how.ipv6 {
		o.Bind = []netip.Addr{netip.IPv6Unspecified()}
	}
	return o, at
}

func (s site) start(t *testing.T, o interop.Options) *peer {
	t.Helper()
	return startPeer(t, o)
}

func (s site) seen(ours netip.AddrPort) netip.AddrPort { return ours }
func (s site) cause() string                           { return loopbackLab("").cause() }

// sites makes one for each test.
func sites(cables int, way how) func(*testing.T) lab {
	return func(t *testing.T) lab {
		t.Helper()
		return newSite(t, cables, way)
	}
}

// inSites runs a test over UDP for either side, in namespaces with some cables between them.
func inSites(t *testing.T, test func(trial), cables int) {
	t.Helper()
	testCase{test: test}.run(t, sites(cables, how{}))
}

// TestNative holds ours to interoperate with usrsctp over IP, protocol 132, between two network namespaces. TestIdle has the
// case of the heartbeats.
func TestNative(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, sites(max(c.cables, 1), how{native: true, ipv6: c.ipv6}))
		})
	}
}

// TestPeerOverUDPLeavesIPAlone has ours meet over IP where a peer that uses UDP runs as well: that hears nothing of it. Otherwise
// it would answer for ports that it knows nothing of, and end associations of whatever runs on this host.
func TestPeerOverUDPLeavesIPAlone(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("SCTP over IP needs root")
	}
	on := onLoopback(t, weDial)
	prepared := prepare(on, setting{})
	on.lab.start(t, prepared.options).expect("ready")
	var ends []*transport.Endpoint
	for n := range byte(2) {
		at := netip.AddrFrom4([4]byte{127, byte(os.Getpid() >> 8), byte(os.Getpid()), 201 + n}) // what others cannot mean
		link, err := transport.ListenIP(at)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := endpoint(t, link, transport.DefaultConfig())
		ends = append(ends, e)
	}
	for range 5 {
		dialled := dial(t, ends[0], ends[1].LocalAddr(), transport.Dial{RemotePort: port})
		messages := collect(t, accept(t, ends[1]))
		if err := dialled.Send(context.Background(), transport.Message{PPID: 60, Payload: []byte("here")}); err != nil {
			t.Fatal(err)
		}
		select {
		case got, ok := <-messages:
			if !ok || string(got.Payload) != "here" {
				t.Fatalf("got %q; %v", got.Payload, dialled.Err())
			}
		case <-time.After(patience):
			t.Fatal("no message came")
		}
	}
}

const paramIPv4 = 5 // of INIT

// TestMultihomedInit meets a station that has three addresses, and says so in its INIT or INIT-ACK.
func TestMultihomedInit(t *testing.T) { inSites(t, multihomedInit, 3) }

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
