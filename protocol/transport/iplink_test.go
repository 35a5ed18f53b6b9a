package transport_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// needsRoot skips where raw sockets and namespaces cannot be had; in CI they must be.
func needsRoot(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		tb.Skip("needs root")
	}
}

// host is an address of this machine that is this process's own: what a raw socket hears, others at its address hear too.
func host(n byte) string {
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(pid >> 8), byte(pid), n}).String()
}

func listenIP(tb testing.TB, addr string, allow ...netip.Prefix) *transport.IPLink {
	tb.Helper()
	link, err := transport.ListenIP(netip.MustParseAddr(addr), allow...)
	if err != nil {
		tb.Fatal(err)
	}
	return link
}

// overIP connects two endpoints over IP, passes messages both ways, and closes.
func overIP(t *testing.T, serving, dialling *transport.IPLink) (server, client *transport.Endpoint) {
	t.Helper()
	server, _ = startOn(t, serving, steady())
	client, _ = startOn(t, dialling, steady())
	dialled, accepted := connect(t, client, server)
	if want := dialling.LocalAddr(); accepted.PeerAddr() != want || want.Port() != 0 || accepted.Arrival().Mode != transport.ModeIP {
		t.Errorf("peer at %s by %s, want %s", accepted.PeerAddr(), accepted.Arrival().Mode, want)
	}
	exchange(t, dialled, accepted)
	if err := dialled.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
	wantReason(t, accepted, transport.PeerShutdown)
	return server, client
}

func TestIPLoopback(t *testing.T) {
	needsRoot(t)
	server, _ := overIP(t, listenIP(t, host(1)), listenIP(t, host(2)))
	if n := server.Stats().Count(transport.OwnPackets); n != 0 {
		t.Errorf("%d own packets", n)
	}
}

// Two associations between the same addresses are told apart by their SCTP ports, and a peer that restarts on them is known.
func TestIPManyAndRestart(t *testing.T) {
	needsRoot(t)
	server, _ := startOn(t, listenIP(t, host(3)), steady())
	silent := &mute{Link: listenIP(t, host(4))}
	client, stop := startOn(t, silent, steady())
	var old []*transport.Association
	for port := range uint16(3) {
		if _, err := client.Dial(deadline(t), server.LocalAddr(), transport.Dial{LocalPort: 4000 + port, RemotePort: 2905}); err != nil {
			t.Fatal(err)
		}
		old = append(old, accept(t, server))
	}
	silent.silent.Store(true) // as killed
	stop()
	client, _ = startOn(t, listenIP(t, host(4)), steady())
	dialled, err := client.Dial(deadline(t), server.LocalAddr(), transport.Dial{LocalPort: 4001, RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, old[1], transport.PeerRestarted)
	again := accept(t, server)
	echoes(t, dialled, collect(t, dialled), collect(t, again), again)
	if server.Stats().Associations != 3 || old[0].Err() != nil || old[2].Err() != nil {
		t.Errorf("%d associations, %v, %v", server.Stats().Associations, old[0].Err(), old[2].Err())
	}
}

// A raw socket hears its own packets where both ends are on one machine; and those of networks that are not allowed.
func TestIPForeignAndOwnPackets(t *testing.T) {
	needsRoot(t)
	server, _ := startOn(t, listenIP(t, host(5), netip.PrefixFrom(netip.MustParseAddr(host(0)), 28)), steady())
	for _, c := range []struct {
		from    string
		counter transport.Counter
	}{
		{host(5), transport.OwnPackets},
		{host(77), transport.ForeignSources},
	} {
		link := listenIP(t, c.from)
		init := packet.Header{SourcePort: 5, DestinationPort: 2905}.Append(nil)
		init = packet.Init{InitiateTag: 1, Window: 1 << 16, OutboundStreams: 1, InboundStreams: 1}.Append(init, packet.TypeInit)
		packet.PutChecksum(init)
		if err := link.WritePacket(init, transport.Peer{Addr: server.LocalAddr()}); err != nil {
			t.Fatal(err)
		}
		counts(t, server, c.counter, 1)
		if err := link.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := server.Stats().Count(transport.PacketsReceived); n != 0 {
		t.Errorf("%d packets were looked at", n)
	}
}

// What cannot be is refused with a sentence that says what would be right.
func TestIPRefusals(t *testing.T) {
	for _, addr := range []string{"0.0.0.0", "::", "224.0.0.1"} {
		if _, err := transport.ListenIP(netip.MustParseAddr(addr)); err == nil || !strings.Contains(err.Error(), "one of this machine's addresses") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, loaded := range []string{"proc/net/sctp", "sys/module/sctp", ""} {
		root := t.TempDir()
		if loaded != "" {
			if err := os.MkdirAll(filepath.Join(root, loaded), 0o750); err != nil {
				t.Fatal(err)
			}
		}
		err := transport.KernelSilent(root)
		if loaded == "" && err != nil || loaded != "" && (err == nil || !strings.Contains(err.Error(), "/"+loaded) ||
			!strings.Contains(err.Error(), "modprobe -r sctp")) {
			t.Errorf("with %q: %v", loaded, err)
		}
	}
	if _, err := start(t, quick()).Dial(deadline(t), netip.MustParseAddrPort("127.0.0.1:0"), transport.Dial{RemotePort: 1}); err == nil {
		t.Error("a UDP port of 0 is dialled")
	}
}

// Without CAP_NET_RAW the sentence names it.
func TestIPWithoutPermission(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+childListensIP)
	if os.Geteuid() == 0 {
		binary := filepath.Join(os.TempDir(), fmt.Sprintf("transport-test-%d", os.Getpid())) // nobody may read what `go test` builds
		copied(t, os.Args[0], binary)
		cmd.Path, cmd.Dir = binary, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "CAP_NET_RAW") {
		t.Errorf("%v: %s", err, out)
	}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(to) })
	if err := os.WriteFile(to, b, 0o755); err != nil { //nolint:gosec // another user is to run it
		t.Fatal(err)
	}
}

// namespaces are two network namespaces of the test's own with a cable between them; gone when it ends.
func namespaces(t *testing.T) (left, right string) {
	t.Helper()
	left, right = fmt.Sprintf("skyring-l%d", os.Getpid()), fmt.Sprintf("skyring-r%d", os.Getpid())
	for _, name := range []string{left, right} {
		ip(t, "netns", "add", name)
		t.Cleanup(func() { ip(t, "netns", "delete", name) })
	}
	ip(t, "-n", left, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", right)
	for i, name := range []string{left, right} {
		ip(t, "-n", name, "address", "add", fmt.Sprintf("10.78.0.%d/24", 1+i), "dev", "cable")
		ip(t, "-n", name, "address", "add", fmt.Sprintf("fd78::%d/64", 1+i), "dev", "cable", "nodad")
		ip(t, "-n", name, "link", "set", "cable", "up")
	}
	return left, right
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// listenIPIn opens a raw socket in a namespace.
func listenIPIn(t *testing.T, name, addr string) (link *transport.IPLink) {
	t.Helper()
	within(t, name, func() (err error) {
		link, err = transport.ListenIP(netip.MustParseAddr(addr), prefixes("10.78.0.0/16", "fd78::/16")...)
		return err
	})
	return link
}

// Two hosts, IPv4 and IPv6: messages longer than the cable's packets among them.
func TestIPBetweenNamespaces(t *testing.T) {
	needsRoot(t)
	left, right := namespaces(t)
	for _, addrs := range [][2]string{{"10.78.0.1", "10.78.0.2"}, {"fd78::1", "fd78::2"}} {
		t.Run(addrs[0], func(t *testing.T) {
			overIP(t, listenIPIn(t, left, addrs[0]), listenIPIn(t, right, addrs[1]))
		})
	}
}
