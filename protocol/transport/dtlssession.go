package transport

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/dtls/v3"

	"skyring/protocol/identity"
)

// handshakeBudget is how many bytes may come before the handshake is through; chains of certificates fit many times.
const handshakeBudget = 64 << 10

// session is a DTLS session with a peer, from a ClientHello that brought its cookie back, or our own, on.
type session struct {
	// static once started
	link   *DTLSLink
	number uint64 // unique on the link
	begin  netip.AddrPort
	cid    [cidLen]byte
	hello  clientHello // of a server's session
	creds  *credentials
	pipe   *pipe
	conn   *dtls.Conn
	cancel context.CancelFunc // of the handshake
	ready  chan struct{}      // closed when the handshake has come through, or failed
	done   chan struct{}      // closed when it has ended

	proof proof // see there

	// owned by the link's reader
	budget int // bytes left for the handshake

	// owned by pion's handshaker, in WriteTo
	cookieSet bool // of a server's session: pion's HelloVerifyRequest has been swallowed

	// static once ready is closed and open is set
	identity identity.Identity
	chain    []*x509.Certificate // of a peer with a certificate
	until    time.Time           // when the first certificate of its proof expires; zero without

	open    atomic.Bool
	current atomic.Pointer[netip.AddrPort]
	settles atomic.Int64 // link's clock: after it records in the clear mean nothing
	used    atomic.Int64 // link's clock: the last packet that was genuine, or the last association's end

	mu           sync.Mutex
	associations map[*Association]struct{}
	ended        *CloseError
}

func (l *DTLSLink) newSession(at netip.AddrPort) *session {
	s := &session{
		link: l, number: l.sessionNumber.Add(1), begin: at, creds: l.creds.Load(),
		ready: make(chan struct{}), done: make(chan struct{}),
		budget: handshakeBudget, associations: map[*Association]struct{}{},
	}
	s.current.Store(&at)
	s.pipe = newPipe(s)
	return s
}

// address is where the peer is now.
func (s *session) address() netip.AddrPort { return *s.current.Load() }

// stage decides on the records that may come.
func (s *session) stage(now time.Time) stage {
	switch {
	case !s.open.Load():
		return stageHandshake
	case s.link.clock(now) < s.settles.Load():
		return stageSettling
	}
	return stageEstablished
}

// take queues a datagram that was routed to the session. The link's reader calls it.
func (s *session) take(b []byte, from netip.AddrPort, now time.Time) {
	at := s.stage(now)
	if at == stageHandshake {
		b = clearAlert(b, s.link.cid())
	}
	if !acceptable(b, at, s.link.cid()) {
		s.link.count.add(BadRecords)
		return
	}
	if at == stageHandshake {
		if s.budget -= len(b); s.budget < 0 {
			s.link.count.add(SessionOverflows)
			return
		}
	}
	s.queue(b, from)
}

func (s *session) queue(b []byte, from netip.AddrPort) {
	d, _ := s.link.datagrams.Get().(*datagram)
	d.b, d.from = append(d.b[:0], b...), from
	if !s.pipe.put(d) {
		s.link.datagrams.Put(d)
		s.link.count.add(SessionOverflows)
	}
}

// transmit sends what pion writes. pion's HelloVerifyRequest is not for the client, who has had ours: its records are
// numbered on from that of the ClientHello which brought the cookie (RFC 6347 section 4.2.1), pion's from 1.
func (s *session) transmit(b []byte, to netip.AddrPort) {
	if s.link.serves && !s.cookieSet {
		s.cookieSet = true
		if isHelloVerifyRequest(b) {
			copy(pionCookie(s.conn), s.hello.cookie)
			return
		}
	}
	if s.link.serves {
		b = shiftRecords(b, sequence(s.hello.raw)-1)
	}
	if old := s.current.Load(); *old != to {
		s.current.Store(&to)
		s.link.count.add(AddressChanges)
	}
	if _, err := s.link.socket.WriteToUDPAddrPort(b, to); err != nil {
		s.link.count.add(SendErrors)
	}
}

func isHelloVerifyRequest(b []byte) bool {
	return len(b) > recordHeaderLen && b[0] == recordHandshake && b[recordHeaderLen] == messageHelloVerifyRequest
}

// serve does the handshake, and then hands decrypted packets to the link until the session ends.
func (s *session) serve(handshake context.Context) {
	defer func() { _ = s.conn.Close() }() // sends close_notify, best effort, and ends pion's goroutines
	defer s.cancel()
	why := s.shake(handshake)
	if why != nil {
		s.end(why.counter, &CloseError{Reason: SessionEnded, Detail: why.err.Error()})
		close(s.ready)
		return
	}
	s.link.count.add(SessionsOpened)
	close(s.ready)
	buffer := make([]byte, maxDatagram)
	for {
		n, err := s.conn.Read(buffer)
		switch {
		case err == nil:
			s.touch()
			s.link.deliver(s, buffer[:n])
		case errors.Is(err, io.EOF) || s.why() != nil:
			s.end(ClosedSessions, &CloseError{Reason: SessionEnded, Detail: "the peer closed the DTLS session"})
			return
		default: // a warning of the peer's
			s.link.count.add(BadRecords)
		}
	}
}

// shake does the handshake, and opens the session.
func (s *session) shake(ctx context.Context) *refusal {
	err := s.conn.HandshakeContext(ctx)
	select {
	case <-s.done:
		return &refusal{counter: HandshakeFailures, err: errors.New("the link was closed")}
	default:
	}
	if err != nil {
		why := s.explain(err)
		s.link.complain(s, why)
		return why
	}
	if !s.proof.identity.Proven() {
		return &refusal{counter: HandshakeFailures, err: errors.New("the handshake came through, and proved nothing")}
	}
	s.identity, s.chain, s.until = s.proof.identity, s.proof.chain, s.proof.until
	now := time.Now()
	s.settles.Store(s.link.clock(now.Add(s.link.cfg.HandshakeTimeout)))
	s.touch()
	s.link.establish(s)
	s.open.Store(true)
	if err := s.valid(s.link.creds.Load(), now); err != nil { // a reload came meanwhile
		return &refusal{counter: RevokedSessions, err: err}
	}
	return nil
}

// explain finds the reason of a handshake that failed.
func (s *session) explain(err error) *refusal {
	var (
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
	)
	named := s.proof.psk.identity.Name
	switch {
	case s.proof.refusal != nil:
		return s.proof.refusal
	case silent(err) && named != "" && s.link.serves:
		return &refusal{UnprovenIdentities, fmt.Errorf("the identity %q was named, and its key not proven in %s: the key is another "+
			"than ours, or the peer fell silent", named, s.link.cfg.HandshakeTimeout)}
	case silent(err) && named != "":
		return &refusal{UnprovenIdentities, fmt.Errorf("no answer in %s to the proof of identity %q: the server has another key for it, "+
			"or fell silent", s.link.cfg.HandshakeTimeout, named)}
	case silent(err) && !s.link.serves:
		return &refusal{HandshakeTimeouts, fmt.Errorf("no answer in %s %s", s.link.cfg.HandshakeTimeout, ModeDTLS.Silence())}
	case silent(err):
		return &refusal{HandshakeTimeouts, fmt.Errorf("no answer in %s", s.link.cfg.HandshakeTimeout)}
	case errors.As(err, &authority), errors.As(err, &invalid), errors.As(err, &hostname):
		return &refusal{RefusedCertificates, fmt.Errorf("the peer's certificate: %w", err)}
	}
	return &refusal{HandshakeFailures, err}
}

// valid reports whether the session's proof would be taken with those credentials.
func (s *session) valid(c *credentials, now time.Time) error {
	if s.identity.Method == identity.PreSharedKey {
		k, listed := c.psks[s.identity.Name]
		switch {
		case !listed:
			return fmt.Errorf("the pre-shared key of %q is not listed any more", s.identity.Name)
		case !k.equal(s.proof.psk):
			return fmt.Errorf("the line of %q in the pre-shared keys has changed", s.identity.Name)
		}
		return nil
	}
	if !s.link.serves { // a client judges the server anew when it dials
		return nil
	}
	if err := c.verify(s.chain, now); err != nil {
		return fmt.Errorf("the certificate of %q is not valid any more: %w", s.identity.Name, err)
	}
	return nil
}

func (s *session) touch() { s.used.Store(s.link.clock(time.Now())) }

// write sends an SCTP packet.
func (s *session) write(b []byte) error {
	if !s.open.Load() || s.why() != nil {
		return ErrClosed
	}
	_, err := s.conn.Write(b)
	return err
}

// attach notes an association of the session; false when the session has ended.
func (s *session) attach(a *Association) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return false
	}
	s.associations[a] = struct{}{}
	return true
}

// detach forgets an association. One whose peer answers no more takes the session with it, unless there are others: they
// find out for themselves.
func (s *session) detach(a *Association, why CloseReason) {
	s.touch()
	s.mu.Lock()
	delete(s.associations, a)
	s.mu.Unlock()
	if why == PathFailed {
		s.abandon()
	}
}

// abandon ends a session without associations.
func (s *session) abandon() {
	if s.idle() {
		s.end(AbandonedSessions, &CloseError{Reason: SessionEnded, Detail: "the peer does not answer"})
	}
}

func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.associations) == 0
}

// why is the reason of the end; nil before.
func (s *session) why() *CloseError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// end ends the session and all its associations; the first reason counts. pion is closed by serve.
func (s *session) end(counter Counter, why *CloseError) {
	s.mu.Lock()
	if s.ended != nil {
		s.mu.Unlock()
		return
	}
	s.ended = why
	associations := s.associations
	s.associations = map[*Association]struct{}{}
	s.mu.Unlock()
	s.link.count.add(counter)
	s.link.forget(s)
	close(s.done)
	s.cancel()
	_ = s.conn.SetReadDeadline(time.Unix(0, 0)) // wakes serve
	for a := range associations {
		a.end(why)
	}
	if s.open.Load() {
		s.link.log.Debug().Stringer("peer", s.address()).Stringer("identity", s.identity).Str("reason", why.Error()).
			Msg("DTLS session ended")
	}
}
