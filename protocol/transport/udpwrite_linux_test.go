package transport_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"skyring/protocol/transport"
)

// reader is a UDP socket that keeps what it gets.
type reader struct {
	socket *net.UDPConn
	addr   netip.AddrPort
}

func newReader(tb testing.TB, at string) reader {
	tb.Helper()
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(at)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = socket.Close() })
	if err := socket.SetReadBuffer(4 << 20); err != nil {
		tb.Fatal(err)
	}
	bound, _ := socket.LocalAddr().(*net.UDPAddr)
	addr := bound.AddrPort()
	return reader{socket, netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())}
}

func (r reader) next(tb testing.TB) []byte {
	tb.Helper()
	b := make([]byte, 1<<16)
	if err := r.socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		tb.Fatal(err)
	}
	n, err := r.socket.Read(b)
	if err != nil {
		tb.Fatal(err)
	}
	return b[:n]
}

// nothing tells that no more has come.
func (r reader) nothing(tb testing.TB) {
	tb.Helper()
	if err := r.socket.SetReadDeadline(time.Unix(1, 0)); err != nil {
		tb.Fatal(err)
	}
	if n, err := r.socket.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		tb.Errorf("read %d bytes more, %v", n, err)
	}
}

// bulk is packets of random lengths, many alike, to random ones of some readers.
func randomBulk(readers []reader, n int) (packets [][]byte, to []netip.AddrPort, bytes int) {
	lengths := []int{12, 28, 28, 1200, 1200, 1200, 1 + rand.IntN(3000)}
	for len(packets) < n {
		at := readers[rand.IntN(len(readers))].addr
		for range 1 + rand.IntN(1+rand.IntN(90)) { // runs longer than a system call takes, too
			b := random(lengths[rand.IntN(1+rand.IntN(len(lengths)))])
			packets, to, bytes = append(packets, b), append(to, at), bytes+len(b)
		}
	}
	return packets, to, bytes
}

// What is written in bulk comes packet by packet, each to its peer and in order: over IPv4, over IPv6 and over a socket of
// both, and where runs of packets cannot be parted.
func TestBulkWrites(t *testing.T) {
	for _, c := range []struct {
		name, at string
		to       []string
		without  bool
	}{
		{"IPv4", "127.0.0.1:0", []string{"127.0.0.1:0", "127.0.0.2:0", "127.0.0.1:0"}, false},
		{"IPv6", "[::1]:0", []string{"[::1]:0", "[::1]:0"}, false},
		{"both", "[::]:0", []string{"127.0.0.1:0", "[::1]:0"}, false},
		{"without checksums", "127.0.0.1:0", []string{"127.0.0.1:0", "127.0.0.2:0"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			link, err := transport.ListenUDP(netip.MustParseAddrPort(c.at))
			if err != nil {
				t.Skipf("no such socket here: %v", err)
			}
			defer func() { _ = link.Close() }()
			if c.without {
				if err := transport.WithoutChecksums(link); err != nil {
					t.Fatal(err)
				}
			}
			var readers []reader
			for _, at := range c.to {
				readers = append(readers, newReader(t, at))
			}
			for range 20 {
				packets, to, size := randomBulk(readers, 200)
				if n, written := transport.WriteAll(link, packets, to); n != len(packets) || written != size {
					t.Fatalf("wrote %d packets of %d bytes, want %d of %d", n, written, len(packets), size)
				}
				for _, r := range readers {
					for i, b := range packets {
						if to[i] == r.addr && !bytes.Equal(r.next(t), b) {
							t.Fatalf("packet %d to %s is not the one sent", i, to[i])
						}
					}
					r.nothing(t)
				}
			}
			if transport.Singly(link) != c.without {
				t.Errorf("runs of packets are parted: %t", c.without)
			}
		})
	}
}

// A packet that cannot be sent costs no other one, and does not count as sent.
func TestBulkWritesWithErrors(t *testing.T) {
	link := listenUDP(t)
	defer func() { _ = link.Close() }()
	r := newReader(t, "127.0.0.1:0")
	wrong := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:0"), netip.MustParseAddrPort("[2001:db8::1]:9"), netip.MustParseAddrPort("[fe80::1%nowhere]:9")}
	var packets [][]byte
	var to []netip.AddrPort
	for range 3 {
		for i, at := range append(wrong, wrong[0]) {
			packets, to = append(packets, random(100), random(100), random(50)), append(to, at, r.addr, r.addr)
			if i == 0 {
				packets, to = append(packets, random(70_000)), append(to, r.addr)
			}
		}
	}
	if n, _ := transport.WriteAll(link, packets, to); n != 24 {
		t.Errorf("%d packets are said to be sent, want 24", n)
	}
	for i, b := range packets {
		if to[i] == r.addr && len(b) < 1<<16 && !bytes.Equal(r.next(t), b) {
			t.Fatalf("packet %d is not the one sent", i)
		}
	}
	r.nothing(t)
}
