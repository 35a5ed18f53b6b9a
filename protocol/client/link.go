package client

import (
	"context"
	"errors"
	"sync/atomic"

	"skyring/protocol"
	"skyring/protocol/transport"
)

// link is one association of a client, or the making of it.
type link struct {
	// static
	client     *Client
	generation int
	cancel     context.CancelFunc // gives the making up

	association atomic.Pointer[transport.Association] // set before the machine is told; nil: none came up
}

// dial makes an association in a goroutine of its own, which then reads it to its end.
func (c *Client) dial(ctx context.Context, e *effect) {
	dialling, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	l := &link{client: c, generation: e.generation, cancel: cancel}
	c.link = l

	c.links.Go(func() {
		defer cancel()

		association, err := c.dialer.Dial(dialling, e.target, transport.Dial{RemotePort: c.cfg.Port, Streams: c.cfg.Streams})
		if err != nil {
			l.step(func(m *machine, at moment) { m.disconnected(at, err) })

			return
		}

		l.read(ctx, association)
	})
}

// read hands what the gateway sends to the machine.
func (l *link) read(ctx context.Context, association *transport.Association) {
	l.association.Store(association)

	if !l.step(func(m *machine, at moment) { m.connected(at) }) {
		association.Abort("not wanted any more")
	}

	why := association.Receive(ctx, func(msg transport.Message) {
		if msg.PPID != l.client.cfg.PPID {
			return // receipts, and what else a gateway has to say to others
		}

		l.client.awaitRoom()

		h, decoded, err := protocol.Decode(msg.Payload)
		l.step(func(m *machine, at moment) { m.received(at, h, decoded, err) })
	})
	l.step(func(m *machine, at moment) { m.disconnected(at, why) })
}

// step runs a step of the machine, and reports whether it did: it does not when the
// machine has gone on to another association, or has stopped.
func (l *link) step(f func(*machine, moment)) (ran bool) {
	l.client.step(func(m *machine, at moment) {
		if ran = m.generation == l.generation && !m.stopped; ran {
			f(m, at)
		}
	})

	return ran
}

// do does an effect on the association. One that is still being made is given up.
func (l *link) do(ctx context.Context, e *effect) {
	association := l.association.Load()
	if association == nil {
		l.cancel()

		return
	}

	switch e.kind {
	case effectSend:
		l.send(ctx, association, e.payload)
	case effectClose:
		l.client.links.Go(func() { l.close(ctx, association) })
	case effectAbort:
		association.Abort(e.reason)
	case effectDial, effectTell:
	}
}

// send sends a message. A full send buffer means a peer that takes nothing; it is given
// as long as the making of an association, then the association is given up.
func (l *link) send(ctx context.Context, association *transport.Association, payload []byte) {
	sending, cancel := context.WithTimeout(ctx, l.client.cfg.DialTimeout)
	defer cancel()

	err := association.Send(sending, transport.Message{PPID: l.client.cfg.PPID, Payload: payload})
	if err != nil && !errors.Is(err, transport.ErrClosed) { // one that ended tells so itself
		association.Abort("takes no messages")
	}
}

// close ends the association when all that was sent has arrived.
func (l *link) close(ctx context.Context, association *transport.Association) {
	closing, cancel := context.WithTimeout(ctx, l.client.cfg.DialTimeout)
	defer cancel()

	if err := association.Close(closing); err != nil {
		l.client.log.Debug().Err(err).Msg("association ended without its end being agreed")
	}
}

// awaitRoom waits until Run has done most of what there is to do.
func (c *Client) awaitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()

	for len(c.machine.effects) > maxEffects && !c.machine.stopped {
		c.room.Wait()
	}
}
