package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport/packet"
)

// Close ends the association gracefully: what was sent is delivered first, then both sides forget it (SHUTDOWN). When
// ctx ends before, the peer is sent an ABORT and the error is that of ctx. Closing an association that has ended, or that
// the peer is closing, is no error. One that is paused stays so: see Resume.
func (a *Association) Close(ctx context.Context) error {
	a.closing.Store(true)
	_ = a.pion.Shutdown(ctx) // its outcome shows in done, also when the peer was first
	select {
	case <-a.done:
		return nil
	default:
	}
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		a.Abort("shutdown took too long")
		return fmt.Errorf("close the association with %s: %w", a.PeerAddr(), ctx.Err())
	}
}

// Abort ends the association at once. The peer gets an ABORT with the cause as text, of which it sees up to 512 bytes;
// messages under way may be lost.
func (a *Association) Abort(reason string) {
	a.abort(&CloseError{Reason: LocalAbort, Detail: reason}, causeUserAbort, reason)
}

// abort tells the peer a cause, and the text. Where the cause has no room for one, the text is a second cause, so that who looks
// at the peer learns what was too much.
func (a *Association) abort(why *CloseError, c cause, text string) {
	a.finish(why, func() {
		value := []byte(text[:min(len(text), maxDetail)])
		var causes []byte
		if c == causeOutOfResource {
			causes, c = packet.AppendParameter(nil, uint16(c), nil), causeUserAbort
		}
		causes = packet.AppendParameter(causes, uint16(c), value)
		a.endpoint.send(packet.AppendChunk(a.packet(64), packet.TypeAbort, 0, causes), a.paths.place())
	})
}

// end ends the association without a word to the peer.
func (a *Association) end(why *CloseError) { a.finish(why, func() {}) }

func (a *Association) finish(why *CloseError, farewell func()) {
	a.ending.Do(func() {
		farewell()
		a.reason.Store(why)
		a.endpoint.table.remove(a, time.Now().Add(a.endpoint.cfg.CookieLife))
		a.endpoint.ends.add(why.Reason) // who sees the end finds it counted
		close(a.done)
		a.conn.inbox.poke() // for pion's reader
		if s := a.peer.session; s != nil {
			s.detach(a, why.Reason)
		}
		a.endpoint.log.WithLevel(a.endpoint.levelOf(why)).Stringer("peer", a.PeerAddr()).Uint16("peerPort", a.peerPort).Str("reason", why.Error()).
			Msg("association ended")
	})
}

// levelOf is how an end is logged: peers that come and go by the thousand must not fill the log.
func (e *Endpoint) levelOf(why *CloseError) zerolog.Level {
	level := why.Reason.level()
	if level == zerolog.InfoLevel && !e.grumble.Allow() {
		return zerolog.DebugLevel
	}
	return level
}

// endByProtocol is for the ends that pion finds: SHUTDOWN came through, or pion aborted.
func (a *Association) endByProtocol() {
	why := &CloseError{Reason: ProtocolViolation, Detail: "ended by the protocol machine"}
	switch detail := a.violation.Load(); {
	case detail != nil:
		why.Detail = *detail
	case a.closing.Load():
		why = &CloseError{Reason: LocalShutdown}
	case a.peerClosing.Load():
		why = &CloseError{Reason: PeerShutdown}
	}
	a.end(why)
}

// onAbort takes the peer's ABORT. With the T bit it would have to carry the peer's own tag.
func (a *Association) onAbort(c packet.Chunk) chunkFate {
	if c.Flags&flagT != 0 {
		a.endpoint.count.add(UnwantedChunks)
		return strip
	}
	a.end(&CloseError{Reason: PeerAbort, Detail: describeCauses(c.Value)})
	return stop
}

func (a *Association) onShutdownComplete(c packet.Chunk) chunkFate {
	if c.Flags&flagT != 0 {
		a.endpoint.count.add(UnwantedChunks)
		return strip
	}
	return pass
}

// onReflected takes ABORT or SHUTDOWN-COMPLETE of a peer that has forgotten the association. After our SHUTDOWN-ACK, that
// is how a peer answers whose SHUTDOWN-COMPLETE got lost; before, SHUTDOWN-COMPLETE means nothing (RFC 9260 section
// 8.5.1, C).
func (a *Association) onReflected(c packet.Chunk) {
	switch {
	case a.shutdownAcked.Load():
		a.endByProtocol()
	case c.Type == packet.TypeShutdownComplete:
		a.endpoint.count.add(UnwantedChunks)
	case a.closing.Load() && a.sending.empty(a):
		a.end(&CloseError{Reason: LocalShutdown})
	default:
		a.end(&CloseError{Reason: PeerAbort, Detail: joinDetail("the peer does not know the association", c.Value)})
	}
}

func joinDetail(text string, causes []byte) string {
	if detail := describeCauses(causes); detail != "" {
		return text + ": " + detail
	}
	return text
}

// shutdownAck is a packet with SHUTDOWN-ACK, for a peer that has forgotten that its shutdown is not through.
func (a *Association) shutdownAck() []byte {
	return packet.AppendChunk(a.packet(16), packet.TypeShutdownAck, 0, nil)
}
