package link

import (
	"context"
	"net"
	"time"
)

// deliver does what is due, when it is, until ctx ends.
func (e *Emulator) deliver(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		e.deliverDue()
		timer.Reset(e.idle())
		select {
		case <-timer.C:
		case <-e.wake:
		case <-ctx.Done():
			return
		}
	}
}

// deliverDue sends on what is due by now, in order. The sockets are written to without the lock, so that who reads
// others does not wait.
func (e *Emulator) deliverDue() {
	for {
		d, socket, ok := e.nextDue()
		if !ok {
			return
		}
		var err error
		if d.way == ToTarget {
			_, err = socket.WriteToUDPAddrPort(d.b, e.cfg.Target)
		} else {
			_, err = socket.WriteToUDPAddrPort(d.b, d.client.addr)
		}
		e.delivered(d.way, err)
	}
}

// nextDue takes the next packet that is due, with the socket for it.
func (e *Emulator) nextDue() (delivery, *net.UDPConn, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	if n := e.cfg.rebinds(now); n > e.planned {
		e.planned = n
		e.rebind()
	}
	d, ok := e.agenda.due(now)
	if !ok {
		return delivery{}, nil, false
	}
	e.stats.Lag = max(e.stats.Lag, now-d.at)
	if d.way == ToClient {
		return d, e.front, true
	}
	return d, d.client.socket, true
}

func (e *Emulator) delivered(way Way, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.stats.Ways[way].dropped[SendFailed]++
		return
	}
	e.stats.Ways[way].Delivered++
}

// idle does the housekeeping and says for how long nothing is due.
func (e *Emulator) idle() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	every := e.cfg.ClientIdle / 4
	if now-e.swept >= every {
		e.swept = now
		e.sweep(now)
	}
	e.sleeps = e.swept + every
	if at, ok := e.agenda.next(); ok {
		e.sleeps = min(e.sleeps, at)
	}
	if at, ok := e.cfg.nextRebind(now); ok {
		e.sleeps = min(e.sleeps, at)
	}
	if e.cfg.rebinds(now) > e.planned { // it fell due between the last look and now
		return 0
	}
	return e.sleeps - now
}
