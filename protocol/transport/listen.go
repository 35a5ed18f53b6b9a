package transport

import (
	"errors"
	"time"

	"skyring/protocol/transport/packet"
)

// onInit answers INIT with INIT-ACK and keeps nothing: all that the association needs travels in the cookie
// (RFC 9260 sections 5.1 and 5.2). alone says that no other chunk is in the packet.
func (e *Endpoint) onInit(in *inbound, chunk packet.Chunk, alone bool) {
	e.count.add(InitsReceived)
	if !alone || in.header.VerificationTag != 0 {
		e.count.add(BadInits)
		return
	}
	if may, why := e.answers.init(in.from.Addr.Addr(), time.Now()); !may {
		e.count.add(why)
		return
	}
	peer, err := readInit(chunk)
	if refusal := (*initError)(nil); errors.As(err, &refusal) {
		e.refuse(in, peer.tag, refusal.cause, refusal.value)
		return
	}
	if err != nil {
		e.count.add(BadInits)
		return
	}
	existing, d := e.table.at(in.tuple())
	if existing != nil && existing.shutdownAcked.Load() { // RFC 9260 section 9.2
		e.send(existing.shutdownAck(), in.from)
		return
	}
	if d == nil && !e.serves(in.header.DestinationPort) {
		e.refuse(in, peer.tag, 0, nil)
		return
	}
	if existing == nil && d == nil && e.crowded(in, peer.tag) || existing != nil && e.grows(in, peer, existing) {
		return
	}
	e.sendInitAck(in, peer, e.propose(in, peer, existing, d), d)
}

// serves tells whether associations to an SCTP port are accepted.
func (e *Endpoint) serves(port uint16) bool {
	return cap(e.backlog) > 0 && !e.refusing.Load() && (e.cfg.Port == 0 || e.cfg.Port == port)
}

// crowded refuses a peer for which there is no room.
func (e *Endpoint) crowded(in *inbound, tag uint32) bool {
	full, why := e.table.full(in.from.Addr.Addr())
	if full {
		e.count.add(why)
		e.refuse(in, tag, causeOutOfResource, nil)
	}
	return full
}

// grows refuses the restart of a peer that names addresses which it had not before (RFC 9260 section 5.2.2). It may set up
// again as soon as the association that there is has ended, which the next heartbeat shows.
func (e *Endpoint) grows(in *inbound, peer peerInit, existing *Association) bool {
	var added []byte
	for _, addr := range e.usable(peer.addresses, in.from) {
		if !existing.paths.has(addr) {
			added = packet.AppendParameter(added, addressParam(addr), addr.AsSlice())
		}
	}
	if added == nil {
		return false
	}
	e.refuse(in, peer.tag, causeRestartNewAddresses, added)
	return true
}

// propose fills the cookie. While we dial the same peer, it holds our own INIT's tag and TSN, so that both INITs end in
// one association (RFC 9260 section 5.2.1); otherwise both are new, and the tags of an existing association tie the
// cookie to it (section 5.2.2).
func (e *Endpoint) propose(in *inbound, peer peerInit, existing *Association, d *dialing) cookie {
	c := cookie{created: e.clock(time.Now()), session: in.from.number(), terms: terms{
		peer: in.from, localPort: in.header.DestinationPort, peerPort: in.header.SourcePort,
		peerTag: peer.tag, peerTSN: peer.tsn, peerWindow: peer.window, forwardTSN: peer.forwardTSN,
		in: min(e.cfg.Streams, peer.outbound), out: min(e.cfg.Streams, peer.inbound), named: e.usable(peer.addresses, in.from),
	}}
	switch {
	case d != nil:
		c.localTag, c.localTSN = d.localTag, d.localTSN
		c.in, c.out = min(d.streams, peer.outbound), min(d.streams, peer.inbound)
		return c
	case existing != nil:
		c.tieLocal, c.tiePeer = existing.localTag, existing.peerTag
	}
	for c.localTag == 0 {
		c.localTag = randomU32()
	}
	c.localTSN = randomU32()
	return c
}

func (e *Endpoint) sendInitAck(in *inbound, peer peerInit, c cookie, d *dialing) {
	inbound := e.cfg.Streams
	if d != nil {
		inbound = d.streams
	}
	ack := offer{
		tag: c.localTag, window: e.cfg.ReceiveWindow, tsn: c.localTSN, outbound: c.out, inbound: inbound,
		cookie: e.cookies.seal(c), unrecognised: peer.unrecognised,
	}
	e.send(ack.append(reply(in.header, peer.tag, 384), packet.TypeInitAck), in.from)
}

// refuse answers with ABORT to a tag; cause 0 gives none.
func (e *Endpoint) refuse(in *inbound, tag uint32, c cause, value []byte) {
	e.count.add(RefusedInits)
	b := reply(in.header, tag, 64)
	if c == 0 {
		b = packet.AppendChunk(b, packet.TypeAbort, 0, nil)
	} else {
		b = appendAbort(b, c, value[:min(len(value), maxUnrecognised)])
	}
	e.send(b, in.from)
}

// onCookieEcho sets an association up from a valid cookie, or answers a repeated one (RFC 9260 section 5.2.4). rest is
// where chunks that came with it start.
func (e *Endpoint) onCookieEcho(in *inbound, chunk packet.Chunk, rest int) {
	c, err := e.cookies.open(chunk.Value)
	if err != nil || c.localTag != in.header.VerificationTag || c.localPort != in.header.DestinationPort ||
		c.peerPort != in.header.SourcePort || !c.sentTo(in.from) {
		e.count.add(BadCookies)
		return
	}
	c.peer = in.from
	existing, d := e.whose(in, c)
	action := judgeCookie(c, tagsOf(existing, d))
	if action == cookieDiscard {
		e.count.add(MismatchedCookies)
		return
	}
	a := existing
	if action != cookieDuplicate || existing == nil {
		if !e.fresh(in, c, action) {
			return
		}
		if a = e.install(in, c, existing, d); a == nil {
			return
		}
	}
	e.send(packet.AppendChunk(reply(in.header, a.peerTag, packet.ChunkHeaderLen), packet.TypeCookieAck, 0, nil), in.from)
	if rest < len(in.b) {
		a.input(in, rest)
	}
}

// whose finds what a cookie is for: what exists between its addresses and ports, or the association that it has set up
// already, when its repetition comes from another UDP port.
func (e *Endpoint) whose(in *inbound, c cookie) (*Association, *dialing) {
	existing, d := e.table.at(in.tuple())
	if existing != nil || d != nil {
		return existing, d
	}
	if a, _ := e.table.tagged(c.localTag); a != nil && a.peerTag == c.peerTag && a.hasPorts(in.header) && a.peer.near(in.from) {
		return a, nil
	}
	return nil, nil
}

// sentTo reports whether the cookie was made for a peer; its UDP port may have changed since, its DTLS session may not.
func (c cookie) sentTo(from place) bool {
	return c.peer.link == from.link && c.session == from.number() && c.peer.Addr.Addr() == from.Addr.Addr().WithZone("")
}

func tagsOf(a *Association, d *dialing) *tags {
	switch {
	case a != nil:
		return &tags{local: a.localTag, peer: a.peerTag}
	case d != nil:
		return d.tags()
	}
	return nil
}

// fresh refuses cookies that are too old, or of an association that has ended.
func (e *Endpoint) fresh(in *inbound, c cookie, action cookieAction) bool {
	now := time.Now()
	if late := e.clock(now) - c.created - e.cfg.CookieLife; late > 0 && action != cookieDuplicate {
		e.count.add(StaleCookies)
		b := appendError(reply(in.header, c.peerTag, 16), causeStaleCookie, u32(uint32(min(late.Microseconds(), 1<<32-1))))
		e.send(b, in.from)
		return false
	}
	if e.table.wasSpent(c.localTag, now) {
		e.count.add(ReplayedCookies)
		return false
	}
	return true
}

// install replaces what existed by the association of the cookie, and hands it to Dial when both sides dialled, else to
// Accept. nil means refused, and answered.
func (e *Endpoint) install(in *inbound, c cookie, existing *Association, d *dialing) *Association {
	if d != nil {
		return e.complete(d, c.terms)
	}
	if existing != nil && existing.shutdownAcked.Load() { // RFC 9260 section 5.2.4, action A
		e.count.add(MismatchedCookies)
		e.send(appendError(existing.shutdownAck(), causeCookieInShutdown, nil), in.from)
		return nil
	}
	if !e.serves(c.localPort) || len(e.backlog) == cap(e.backlog) {
		e.count.add(RefusedAssociations)
		e.refuse(in, c.peerTag, causeOutOfResource, nil)
		return nil
	}
	if existing == nil && e.crowded(in, c.peerTag) {
		return nil
	}
	if existing != nil {
		e.count.add(Restarts)
		existing.end(&CloseError{Reason: PeerRestarted})
	}
	a, err := e.establish(c.terms, byPeer)
	if errors.Is(err, errDialled) { // Dial began after onCookieEcho looked
		if _, d := e.table.at(in.tuple()); d != nil {
			return e.complete(d, c.terms)
		}
		return nil // and has ended already: the peer repeats its cookie
	}
	if err != nil {
		e.log.Warn().Err(err).Stringer("peer", in.from.Addr).Msg("association not set up")
		e.refuse(in, c.peerTag, causeOutOfResource, nil)
		return nil
	}
	e.count.add(AssociationsAccepted)
	e.backlog <- a // has room: this goroutine alone fills it
	return a
}
