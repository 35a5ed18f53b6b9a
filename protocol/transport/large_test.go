package transport_test

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// A peer whose links take jumbo frames bundles more in a packet than pion reads: it gets through in pieces.
func TestLongBundles(t *testing.T) {
	s, server, _, messages := pair(t, steady())
	var (
		chunks [][]byte
		sent   []string
	)
	for i := range 10 {
		text := strings.Repeat(strconv.Itoa(i), 3000)
		sent, chunks = append(sent, text), append(chunks, s.data(whole(0, text)))
	}
	s.send(s.serverTag, chunks...)
	for i, text := range sent {
		if m := next(t, messages); string(m.Payload) != text {
			t.Fatalf("message %d: got %d bytes of %.1s", i, len(m.Payload), m.Payload)
		}
	}
	if n := server.Stats().Count(transport.OversizedPackets); n != 0 {
		t.Errorf("%d oversized packets", n)
	}
}

// DATA in one piece of more than pion reads can never be taken: the peer hears so, rather than to send it for ever.
func TestLongData(t *testing.T) {
	s, server, a, messages := pair(t, steady())
	s.send(s.serverTag, s.data(whole(0, strings.Repeat("x", 8160)))) // just fits
	if m := next(t, messages); len(m.Payload) != 8160 {
		t.Errorf("got %d bytes", len(m.Payload))
	}
	s.send(s.serverTag, s.data(whole(0, strings.Repeat("x", 8180))))
	_, c := s.expect(packet.TypeAbort)
	if !bytes.HasPrefix(c.Value, []byte{0, 4}) {
		t.Errorf("ABORT %x", c.Value)
	}
	if detail := wantReason(t, a, transport.ProtocolViolation); !strings.Contains(detail, "lower the peer's path MTU to 8192") {
		t.Errorf("detail %q", detail)
	}
	counts(t, server, transport.OversizedPackets, 1)
}

// A peer that looks for how long packets may be (RFC 8899) gets no answer to longer ones than can be taken.
func TestLongProbe(t *testing.T) {
	s, server, _, messages := pair(t, steady())
	heartbeat := packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, []byte("probe me")))
	s.send(s.serverTag, heartbeat, packet.AppendChunk(nil, packet.TypePad, 0, make([]byte, 8100)))
	s.expect(packet.TypeHeartbeatAck)
	s.send(s.serverTag, heartbeat, packet.AppendChunk(nil, packet.TypePad, 0, make([]byte, 8200)))
	s.silence()
	s.stillServed(messages)
	counts(t, server, transport.OversizedPackets, 1)
}

// dualStack listens for both families on one socket.
func dualStack(t *testing.T) *transport.UDPLink {
	t.Helper()
	link, err := transport.ListenUDP(netip.MustParseAddrPort("[::]:0"))
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	return link
}

// One socket serves both families: an IPv4 peer is known by its IPv4 address.
func TestDualStack(t *testing.T) {
	server, _ := startOn(t, dualStack(t), steady())
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		link, err := transport.ListenUDP(netip.MustParseAddrPort(at))
		if err != nil {
			t.Fatal(err)
		}
		client, _ := startOn(t, link, steady())
		to := netip.AddrPortFrom(link.LocalAddr().Addr(), server.LocalAddr().Port())
		dialled, err := client.Dial(deadline(t), to, transport.Dial{RemotePort: 2905})
		if err != nil {
			t.Fatal(err)
		}
		accepted := accept(t, server)
		if accepted.PeerAddr() != link.LocalAddr() {
			t.Errorf("peer at %s, want %s", accepted.PeerAddr(), link.LocalAddr())
		}
		exchange(t, dialled, accepted)
	}
}

// A station of both families is followed from one to the other.
func TestPathsOfBothFamilies(t *testing.T) {
	server, _ := startOn(t, dualStack(t), idle())
	first := newStationAt(t, server, loopback())
	first.server = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), server.LocalAddr().Port())
	second := newStationAt(t, server, netip.AddrPortFrom(netip.IPv6Loopback(), first.socketPort()))
	second.server = netip.AddrPortFrom(netip.IPv6Loopback(), server.LocalAddr().Port())
	echo := first.begin(addressParams("127.0.0.1", "::1"))
	first.send(first.serverTag, echo)
	first.expect(packet.TypeCookieAck)
	a := accept(t, server)
	second.serverTag = first.serverTag
	second.confirm()
	eventually(t, "the IPv6 address is confirmed", func() bool { return slices.Contains(a.PeerAddrs(), second.addr()) })
}

func (s *station) socketPort() uint16 { return s.addr().Port() }

func (s *station) addr() netip.AddrPort {
	addr, _ := netip.ParseAddrPort(s.socket.LocalAddr().String())
	return addr
}

// Packets longer than the path's frames go in fragments of IP, both ways and in both families; messages of 20 kB and
// 60 kB among them.
func TestFragmentedEncapsulation(t *testing.T) {
	needsRoot(t)
	left, right := namespaces(t)
	jumbo := steady()
	jumbo.MaxPacket = 8192
	for _, addrs := range [][2]string{{"10.78.0.1", "10.78.0.2"}, {"fd78::1", "fd78::2"}} {
		for _, dialling := range []transport.Config{jumbo, steady()} {
			server, _ := startOn(t, listenUDPIn(t, left, addrs[0]), jumbo)
			client, _ := startOn(t, listenUDPIn(t, right, addrs[1]), dialling)
			dialled, accepted := connect(t, client, server)
			sent, received := collect(t, dialled), collect(t, accepted)
			for range 5 {
				m := transport.Message{Stream: 2, PPID: 60, Payload: bytes.Repeat([]byte("fragment"), 2500)}
				if err := errors.Join(dialled.Send(deadline(t), m), accepted.Send(deadline(t), m)); err != nil {
					t.Fatal(err)
				}
				for _, at := range []<-chan transport.Message{sent, received} {
					if got := next(t, at); !bytes.Equal(got.Payload, m.Payload) {
						t.Fatalf("got %d bytes", len(got.Payload))
					}
				}
			}
		}
	}
}

func listenUDPIn(t *testing.T, name, addr string) (link *transport.UDPLink) {
	t.Helper()
	within(t, name, func() (err error) {
		link, err = transport.ListenUDP(netip.AddrPortFrom(netip.MustParseAddr(addr), 0), prefixes("10.78.0.0/16", "fd78::/16")...)
		return err
	})
	return link
}

// within calls what opens a socket on a thread that has moved to a namespace; the thread ends with the call, the socket
// stays there.
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
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			if err = errors.Join(err, file.Close()); err != nil {
				return err
			}
			return open()
		}()
	}()
	if err := <-failed; err != nil {
		t.Fatalf("in namespace %s: %v", name, err)
	}
}
