package dispatcher

import (
	"context"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
)

// startWriter starts the goroutine that takes a node's outbox to NATS. keepMembers
// calls it, with mu held, for each node that it sees for the first time.
func (d *Dispatcher) startWriter(n routing.Node) kick {
	k := make(kick, 1)
	k.wake()
	d.kicks[n] = k

	return k
}

// writeOutbox sends frames of whatever has queued for a node while the last one was
// on its way, until ctx ends or k is
// closed. A frame that cannot be published is not sent again
// here: its messages stay in flight, and their deadline or the return of NATS is
// what sends them.
func (d *Dispatcher) writeOutbox(ctx context.Context, n routing.Node, k kick) {
	var (
		w       bus.EnvelopeWriter
		buffer  []byte
		subject = d.cfg.Namespace.Node(n.ID())
		frame   = routing.Frame{Messages: d.cfg.FrameMessages, Bytes: d.cfg.FrameBytes}
	)

	for {
		select {
		case <-ctx.Done():
			return
		case _, more := <-k:
			if !more { // the node is forgotten
				return
			}
		}

		for {
			w.Reset(buffer[:0], d.incarnation)

			d.mu.Lock()
			messages := d.core.Fill(d.now(), n, &w, frame)
			d.mu.Unlock()

			if messages == 0 {
				break
			}

			buffer = w.Bytes()
			d.publish(subject, buffer, messages)
		}
	}
}

func (d *Dispatcher) publish(subject string, frame []byte, messages int) {
	d.count.frames.Add(1)

	if err := d.conn.Publish(subject, d.subject, frame); err != nil {
		d.count.drop(DropPublish, messages)
		d.log.Debug().Err(err).Int("messages", messages).Msg("frame not published")
	}
}
