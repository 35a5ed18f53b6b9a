package transport

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"skyring/protocol/transport/packet"
)

// conn is the net.Conn that pion reads and writes: the association's inbox on one side, the endpoint's link on the
// other. It never fails for a passing reason, since pion ends the association on any error.
type conn struct {
	association *Association
	inbox       inbox
	late        atomic.Bool // the read deadline has passed

	acknowledged atomic.Uint64 // 1<<32 and the cumulative TSN of the last SACK; 0 before

	mu    sync.Mutex
	timer *time.Timer // of the read deadline
}

// Read implements net.Conn. pion calls it when it has dealt with the packet before: the moment at which a SACK has made
// room for a Send that waits.
func (c *conn) Read(b []byte) (int, error) {
	a := c.association
	a.sending.processed()
	for {
		switch p := c.inbox.take(); {
		case p == nil && c.late.Load():
			return 0, os.ErrDeadlineExceeded
		case p == nil && a.isDone():
			return 0, io.EOF
		case p == nil:
			<-c.inbox.wake // also when the association ends, or the deadline passes
		case p.passed != nil:
			close(p.passed)
		default:
			n := copy(b, p.b)
			a.endpoint.packets.Put(p)
			return n, nil
		}
	}
}

// Write implements net.Conn. b is pion's and may be changed.
func (c *conn) Write(b []byte) (int, error) {
	a := c.association
	select {
	case <-a.done:
		return 0, io.EOF
	default:
	}
	a.rewriteOutbound(b)
	if packet.ChunkType(b[packet.HeaderLen]) == packet.TypeSack { // pion sends it alone
		a.endpoint.send(b, c.sackPlace(b))
	} else {
		a.endpoint.send(b, a.paths.place())
	}
	return len(b), nil
}

// sackPlace is where a SACK goes: where DATA came from. When it acknowledges nothing more than the one before, that DATA came twice,
// and the SACK before may have been lost there: so this one goes to where our own DATA is heard (RFC 9260 section 6.4). A peer may
// well send from an address at which it hears no more.
func (c *conn) sackPlace(b []byte) place {
	const cumulative, gaps = packet.HeaderLen + packet.ChunkHeaderLen, packet.HeaderLen + packet.ChunkHeaderLen + 8 // section 3.3.4
	paths := &c.association.paths
	if len(b) < gaps+2 {
		return paths.place()
	}
	acknowledged := 1<<32 | uint64(binary.BigEndian.Uint32(b[cumulative:]))
	if c.acknowledged.Swap(acknowledged) == acknowledged && binary.BigEndian.Uint16(b[gaps:]) == 0 {
		return paths.place()
	}
	return paths.replyPlace()
}

// Close implements net.Conn. When pion calls it first, the association ended by the protocol.
func (c *conn) Close() error {
	c.association.endByProtocol()
	return c.SetReadDeadline(time.Time{})
}

// SetReadDeadline implements net.Conn; pion's ways of giving up rely on it.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.late.Store(false)
	if t.IsZero() {
		return nil
	}
	expire := func() { c.late.Store(true); c.inbox.poke() }
	if wait := time.Until(t); wait > 0 {
		c.timer = time.AfterFunc(wait, expire)
	} else {
		expire()
	}
	return nil
}

// SetWriteDeadline implements net.Conn; writes never wait.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr {
	return net.UDPAddrFromAddrPort(c.association.endpoint.LocalAddr())
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr {
	return net.UDPAddrFromAddrPort(c.association.PeerAddr())
}
