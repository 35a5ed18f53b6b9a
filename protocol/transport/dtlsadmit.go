package transport

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/pion/dtls/v3"
)

// sessionTable finds sessions by connection ID and by address.
type sessionTable struct {
	all       map[*session]struct{}
	byCID     map[[cidLen]byte]*session
	byAddress map[netip.AddrPort]*sessionsAt
	halfOpen  int
	bySource  map[netip.Prefix]int // handshakes under way
}

// sessionsAt are what began at one address: a session, and the handshake by which its peer begins anew, which may fail
// and then changes nothing (RFC 6347 section 4.2.8).
type sessionsAt struct{ open, opening *session }

func newSessionTable() sessionTable {
	return sessionTable{
		all: map[*session]struct{}{}, byCID: map[[cidLen]byte]*session{}, byAddress: map[netip.AddrPort]*sessionsAt{},
		bySource: map[netip.Prefix]int{},
	}
}

func (t *sessionTable) at(addr netip.AddrPort) sessionsAt {
	if both := t.byAddress[addr]; both != nil {
		return *both
	}
	return sessionsAt{}
}

// enter adds a handshake that has just begun.
func (t *sessionTable) enter(s *session) {
	t.all[s] = struct{}{}
	t.byCID[s.cid] = s
	both := t.byAddress[s.begin]
	if both == nil {
		both = &sessionsAt{}
		t.byAddress[s.begin] = both
	}
	both.opening = s
	t.halfOpen++
	t.bySource[sourceOf(s.begin.Addr())]++
}

// settle ends a session's handshake.
func (t *sessionTable) settle(s *session) {
	both := t.byAddress[s.begin]
	if both == nil || both.opening != s {
		return
	}
	both.opening = nil
	t.halfOpen--
	source := sourceOf(s.begin.Addr())
	if t.bySource[source]--; t.bySource[source] == 0 {
		delete(t.bySource, source)
	}
}

// remove forgets a session.
func (t *sessionTable) remove(s *session) {
	t.settle(s)
	delete(t.all, s)
	if t.byCID[s.cid] == s {
		delete(t.byCID, s.cid)
	}
	both := t.byAddress[s.begin]
	if both == nil {
		return
	}
	if both.open == s {
		both.open = nil
	}
	if *both == (sessionsAt{}) {
		delete(t.byAddress, s.begin)
	}
}

// find is the session of a datagram that is no ClientHello; nil for none. A record with a connection ID says itself whose
// it is. Others go by the address: data to the session that is open, the rest to the handshake under way, if there is one.
func (l *DTLSLink) find(b []byte, from netip.AddrPort) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(b) < recordHeaderLen {
		return nil
	}
	if b[0] == recordCID {
		if len(b) < recordHeaderLen+cidLen {
			return nil
		}
		return l.table.byCID[[cidLen]byte(b[11:])]
	}
	both := l.table.at(from)
	if both.opening == nil || both.open != nil && b[0] == recordData {
		return both.open
	}
	return both.opening
}

// greet deals with a ClientHello.
func (l *DTLSLink) greet(b []byte, from netip.AddrPort, now time.Time) {
	h, ok := readClientHello(b)
	switch {
	case !ok:
		l.count.add(BadHellos)
	case len(h.cookie) == 0 && h.messageSequence == 0:
		l.count.add(HelloVerifies)
		if _, err := l.socket.WriteToUDPAddrPort(h.helloVerifyRequest(l.keys.cookie(h, from, now)), from); err != nil {
			l.count.add(SendErrors)
		}
	case h.messageSequence != 1 || !l.keys.good(h, from, now):
		l.count.add(BadHelloCookies)
	default:
		l.admit(h, from, now)
	}
}

// admit begins the handshake of a ClientHello whose address is proven, or repeats it to the one that it has begun.
func (l *DTLSLink) admit(h clientHello, from netip.AddrPort, now time.Time) {
	l.mu.Lock()
	both := l.table.at(from)
	source := l.table.bySource[sourceOf(from.Addr())]
	halfOpen, all, shutting := l.table.halfOpen, len(l.table.all), l.shutting
	l.mu.Unlock()
	switch {
	case shutting:
	case both.opening != nil && both.opening.hello.random == h.random:
		both.opening.take(h.raw, from, now)
	case both.open != nil && both.open.hello.random == h.random:
		// It was late on the way: the handshake is through.
	case both.opening != nil:
		both.opening.end(ReplacedSessions, &CloseError{Reason: SessionEnded, Detail: "the peer began the handshake anew"})
		l.begin(h, from)
	case halfOpen >= l.cfg.MaxHalfOpen:
		l.count.add(HalfOpenRefused)
	case source >= l.cfg.MaxHalfOpenPerSource:
		l.count.add(SourceHalfOpenRefused)
	case all >= l.cfg.MaxSessions:
		l.count.add(SessionsRefused)
	default:
		l.begin(h, from)
	}
}

// begin starts a server's session: pion gets the ClientHello as if it had seen the one before, and as it is.
func (l *DTLSLink) begin(h clientHello, from netip.AddrPort) {
	h.raw, h.cookie = bytes.Clone(h.raw), bytes.Clone(h.cookie)
	h.session, h.offers = nil, nil
	s := l.newSession(from)
	s.hello = h
	copy(s.cid[:], dtls.RandomCIDGenerator(cidLen)())
	s.queue(h.withoutCookie(), from)
	s.queue(h.raw, from)
	if err := l.launch(s, (*session).newServer); err != nil {
		l.count.add(HandshakeFailures)
		l.complain(s, &refusal{HandshakeFailures, err})
	}
}

// launch enters a session and starts its goroutine.
func (l *DTLSLink) launch(s *session, side func(*session) (*dtls.Conn, error)) error {
	conn, err := side(s)
	if err != nil {
		return fmt.Errorf("begin a DTLS handshake: %w", err)
	}
	s.conn = conn
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.HandshakeTimeout)
	s.cancel = cancel
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shutting {
		cancel()
		return errRefusing
	}
	l.table.enter(s)
	l.count.add(HandshakesStarted)
	l.tasks.Go(func() { s.serve(ctx) })
	return nil
}

// sessionWith is a client's session with an address: the one there is, or a new one.
func (l *DTLSLink) sessionWith(to netip.AddrPort) (*session, error) {
	l.dialing.Lock()
	defer l.dialing.Unlock()
	l.mu.Lock()
	both := l.table.at(to)
	full := len(l.table.all) >= l.cfg.MaxSessions
	l.mu.Unlock()
	switch {
	case both.opening != nil:
		return both.opening, nil
	case both.open != nil:
		return both.open, nil
	case full:
		l.count.add(SessionsRefused)
		return nil, fmt.Errorf("%d DTLS sessions, the most that may be", l.cfg.MaxSessions)
	}
	s := l.newSession(to)
	if err := l.launch(s, (*session).newClient); err != nil {
		return nil, err
	}
	return s, nil
}

// establish makes a session whose handshake has come through the one at its address. One that was there before ends: its
// peer has begun anew; unless its datagrams come from elsewhere by now, and another peer has got the address.
func (l *DTLSLink) establish(s *session) {
	l.mu.Lock()
	l.table.settle(s)
	both := l.table.byAddress[s.begin]
	if both == nil {
		both = &sessionsAt{}
		l.table.byAddress[s.begin] = both
	}
	before := both.open
	both.open = s
	l.mu.Unlock()
	if before != nil && before.address() == s.begin {
		before.end(ReplacedSessions, &CloseError{Reason: SessionEnded, Detail: "the peer began a new DTLS session"})
	}
}

// forget removes a session that has ended.
func (l *DTLSLink) forget(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.remove(s)
}
