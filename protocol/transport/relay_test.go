package transport_test

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"skyring/protocol/transport"
)

// relay stands between clients and a server as a NAT and a bad link do. Clients dial its front.
type relay struct {
	front  *net.UDPConn
	server netip.AddrPort
	client atomic.Pointer[netip.AddrPort] // the last that spoke
	judge  atomic.Pointer[func(b []byte) fate]
	tasks  sync.WaitGroup

	mu   sync.Mutex
	back *net.UDPConn // what the server sees
}

// fate is what becomes of a packet on the way.
type fate uint8

const (
	onTime fate = iota
	lost
	twice
	overtaken // by the next packet that way
)

func newRelay(t *testing.T, server netip.AddrPort) *relay {
	t.Helper()
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback()))
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{front: front, server: server}
	r.rebind(t)
	r.tasks.Go(func() {
		r.pump(front, func(b []byte, from netip.AddrPort) {
			r.client.Store(&from)
			_, _ = r.behind().WriteToUDPAddrPort(b, server)
		})
	})
	t.Cleanup(r.close)
	return r
}

// connectByRelay is connect with a relay on the way.
func connectByRelay(t *testing.T, client, server *transport.Endpoint) (r *relay, dialled, accepted *transport.Association) {
	t.Helper()
	r = newRelay(t, server.LocalAddr())
	dialled, err := client.Dial(deadline(t), r.addr(), transport.Dial{RemotePort: 2905})
	if err != nil {
		t.Fatal(err)
	}
	return r, dialled, accept(t, server)
}

func (r *relay) addr() netip.AddrPort { return r.front.LocalAddr().(*net.UDPAddr).AddrPort() }

func (r *relay) behind() *net.UDPConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back
}

// rebind gives the client another port towards the server, as a NAT does after silence; the old one is gone.
func (r *relay) rebind(t *testing.T) {
	t.Helper()
	r.rebindAt(t, loopback())
}

func (r *relay) rebindAt(t *testing.T, at netip.AddrPort) {
	t.Helper()
	back, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	old := r.back
	r.back = back
	r.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
	r.tasks.Go(func() {
		r.pump(back, func(b []byte, _ netip.AddrPort) {
			if client := r.client.Load(); client != nil {
				_, _ = r.front.WriteToUDPAddrPort(b, *client)
			}
		})
	})
}

// disturbing lets judge decide on each packet, both ways; it is called by several goroutines.
func (r *relay) disturbing(judge func(b []byte) fate) { r.judge.Store(&judge) }

// losing drops the packets for which lose says so, both ways.
func (r *relay) losing(lose func(b []byte) bool) {
	r.disturbing(func(b []byte) fate {
		if lose(b) {
			return lost
		}
		return onTime
	})
}

func (r *relay) pump(from *net.UDPConn, forward func([]byte, netip.AddrPort)) {
	buffer := make([]byte, 1<<16)
	var held []byte
	for {
		n, addr, err := from.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		what := onTime
		if judge := r.judge.Load(); judge != nil {
			what = (*judge)(buffer[:n])
		}
		switch what {
		case lost:
			continue
		case overtaken:
			if held == nil {
				held = bytes.Clone(buffer[:n])
				continue
			}
		case twice:
			forward(buffer[:n], addr)
		case onTime:
		}
		forward(buffer[:n], addr)
		if held != nil {
			forward(held, addr)
			held = nil
		}
	}
}

func (r *relay) close() {
	_ = r.front.Close()
	_ = r.behind().Close()
	r.tasks.Wait()
}

// mute is a link that can stop sending.
type mute struct {
	transport.Link
	silent atomic.Bool
}

func (m *mute) WritePacket(b []byte, to transport.Peer) error {
	if m.silent.Load() {
		return nil
	}
	return m.Link.WritePacket(b, to)
}
