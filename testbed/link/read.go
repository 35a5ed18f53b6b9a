package link

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
)

const (
	longestDatagram = 1 << 16
	maxReadErrors   = 100 // in a row, before a socket is given up
)

// readFront takes packets of clients until the socket is closed.
func (e *Emulator) readFront() error {
	return read(e.front, func(b []byte, from netip.AddrPort) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.stats.Ways[ToTarget].Received++
		c, refused := e.clientAt(from)
		if refused != 0 {
			e.stats.Ways[ToTarget].dropped[refused]++
			return
		}
		e.take(c, ToTarget, b)
	})
}

// readBack takes packets for a client until its socket is closed.
func (e *Emulator) readBack(c *client, socket *net.UDPConn) {
	err := read(socket, func(b []byte, from netip.AddrPort) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.stats.Ways[ToClient].Received++
		if from != e.cfg.Target {
			e.stats.Ways[ToClient].dropped[Stranger]++
			return
		}
		e.take(c, ToClient, b)
	})
	if err != nil {
		e.log.Warn().Err(err).Stringer("client", c.addr).Msg("client hears nothing any more")
	}
}

// read hands on what comes until the socket is closed, which is no error. Other errors pass, unless they do not.
func read(socket *net.UDPConn, take func([]byte, netip.AddrPort)) error {
	buffer := make([]byte, longestDatagram+1) // one more: so that it is not on the stack, which would be copied
	for failures := 0; ; {
		n, from, err := socket.ReadFromUDPAddrPort(buffer)
		switch {
		case err == nil:
			failures = 0
			take(buffer[:n], unmap(from))
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			if failures++; failures == maxReadErrors {
				return err
			}
		}
	}
}

// take decides on a packet and enters it into the agenda. The caller holds mu.
func (e *Emulator) take(c *client, way Way, b []byte) {
	count := &e.stats.Ways[way]
	if e.closed {
		count.dropped[Ended]++
		return
	}
	c.heard = e.now()
	what := e.paths[way].decide(&c.flows[way], len(b), c.heard)
	if what.dropped != 0 {
		count.dropped[what.dropped]++
		return
	}
	one := delivery{at: what.arrivals[0], way: way, client: c, b: bytes.Clone(b)}
	if !e.enter(one) {
		count.dropped[BufferFull]++
		return
	}
	if what.overtaken {
		count.Overtaken++
	}
	if what.copies > 1 {
		one.at = what.arrivals[1]
		if e.enter(one) {
			count.Duplicated++
		}
	}
}

// enter adds to the agenda and wakes who waits for what was due first. The caller holds mu.
func (e *Emulator) enter(d delivery) bool {
	if !e.agenda.add(d) {
		return false
	}
	if d.at < e.sleeps {
		e.sleeps = d.at
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
	return true
}
