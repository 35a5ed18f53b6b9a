package transport

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

const pipeLen = 128 // datagrams that may wait for a session; more are dropped

// datagram is one that waits for a session.
type datagram struct {
	b    []byte
	from netip.AddrPort
}

// udpAddr is an address as pion wants it. A pipe gives the same pointer for the same address: pion compares pointers.
type udpAddr struct{ netip.AddrPort }

// Network implements net.Addr.
func (*udpAddr) Network() string { return "udp" }

// pipe is the net.PacketConn that pion/dtls reads and writes: a queue that the link's reader fills on one side, the
// link's socket on the other.
type pipe struct {
	// static
	session *session
	in      chan *datagram
	closed  chan struct{}
	closing sync.Once

	// owned by pion's reader
	last *udpAddr

	mu     sync.Mutex
	late   chan struct{} // closed when the read deadline has passed
	passed bool
}

func newPipe(s *session) *pipe {
	return &pipe{
		session: s, in: make(chan *datagram, pipeLen), closed: make(chan struct{}), late: make(chan struct{}),
		last: &udpAddr{s.begin},
	}
}

// put queues a datagram; false when there is no room.
func (p *pipe) put(d *datagram) bool {
	select {
	case p.in <- d:
		return true
	default:
		return false
	}
}

// ReadFrom implements net.PacketConn.
func (p *pipe) ReadFrom(b []byte) (int, net.Addr, error) {
	p.mu.Lock()
	late := p.late
	p.mu.Unlock()
	select {
	case d := <-p.in:
		n := copy(b, d.b)
		if d.from != p.last.AddrPort {
			p.last = &udpAddr{d.from}
		}
		p.session.link.datagrams.Put(d)
		return n, p.last, nil
	case <-late:
		return 0, nil, os.ErrDeadlineExceeded
	case <-p.closed:
		return 0, nil, net.ErrClosed
	}
}

// WriteTo implements net.PacketConn. A passing error of the socket is not pion's affair, which would end the handshake:
// it counts, and both DTLS and SCTP repeat what matters.
func (p *pipe) WriteTo(b []byte, to net.Addr) (int, error) {
	select {
	case <-p.closed:
		return 0, net.ErrClosed
	default:
	}
	addr, ok := to.(*udpAddr)
	if !ok {
		return 0, &net.AddrError{Err: "not an address of this link", Addr: to.String()}
	}
	p.session.transmit(b, addr.AddrPort)
	return len(b), nil
}

// Close implements net.PacketConn.
func (p *pipe) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return nil
}

// LocalAddr implements net.PacketConn.
func (p *pipe) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(p.session.link.LocalAddr()) }

// SetReadDeadline implements net.PacketConn. pion sets a time long past, to wake its reader, and the zero time after.
func (p *pipe) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.IsZero():
		if p.passed {
			p.late, p.passed = make(chan struct{}), false
		}
	case time.Until(t) > 0:
		return &net.OpError{Op: "set a deadline to come", Net: "dtls", Err: os.ErrInvalid}
	case !p.passed:
		close(p.late)
		p.passed = true
	}
	return nil
}

// SetWriteDeadline implements net.PacketConn; writes never wait.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.PacketConn.
func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }
