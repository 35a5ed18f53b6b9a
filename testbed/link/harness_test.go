package link_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/testbed/link"
)

const patience = 20 * time.Second // for what must happen

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a link until the test ends; stop ends it before.
func start(t *testing.T, cfg link.Config) (e *link.Emulator, stop func()) {
	t.Helper()
	e, err := link.New(cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return e, stop
}

func to(target netip.AddrPort) link.Config {
	cfg := link.DefaultConfig()
	cfg.Target = target
	return cfg
}

// peer is a UDP socket whose packets come through a channel.
type peer struct {
	t        *testing.T
	socket   *net.UDPConn
	received chan datagram
}

type datagram struct {
	text string
	from netip.AddrPort
}

func newPeer(t *testing.T, host string) *peer {
	t.Helper()
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), 0)))
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, socket: socket, received: make(chan datagram, 1024)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for {
			n, from, err := socket.ReadFromUDPAddrPort(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				p.received <- datagram{string(b[:n]), netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}
			}
		}
	}()
	t.Cleanup(func() { _ = socket.Close(); <-done })
	return p
}

func (p *peer) addr() netip.AddrPort { return p.socket.LocalAddr().(*net.UDPAddr).AddrPort() }

func (p *peer) send(to netip.AddrPort, text string) {
	p.t.Helper()
	if _, err := p.socket.WriteToUDPAddrPort([]byte(text), to); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) next() datagram {
	p.t.Helper()
	select {
	case d := <-p.received:
		return d
	case <-time.After(patience):
		p.t.Fatal("no packet came")
	}
	return datagram{}
}

func (p *peer) expect(text string) (from netip.AddrPort) {
	p.t.Helper()
	d := p.next()
	if d.text != text {
		p.t.Fatalf("got %q, want %q", d.text, text)
	}
	return d.from
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for limit := time.After(patience); !ok(); {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}
