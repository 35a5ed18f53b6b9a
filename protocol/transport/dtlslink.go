package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/dtls/v3"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
)

const receivedLen = 1024 // decrypted packets that may wait for ReadPacket; the sessions' readers wait then

// DTLSLink carries SCTP packets in the records of DTLS sessions (RFC 8261), many on one UDP socket: those that clients
// set up with a server's link, or those that a client's link sets up when it is dialled over. Each session is a Peer of
// its own, which stays the same when its datagrams come from another address (RFC 9146).
//
//	socket -> receive: ClientHello without a cookie ..... answered, nothing kept (dtlshello.go)
//	                   ClientHello with a good cookie ... admit: a new session (dtlsadmit.go)
//	                   record ........................... of which session, may pion see it (dtlsrecord.go)
//	                      |
//	                   pipe -> pion/dtls -> serve -> ReadPacket
//
// A session has four goroutines: three are pion's.
type DTLSLink struct {
	// static after the link is open
	cfg     SecureConfig
	serves  bool
	socket  *net.UDPConn
	log     zerolog.Logger
	pionLog *pionLogger
	grumble *rate.Limiter // of the log's warnings
	begun   time.Time
	closed  chan struct{}
	arrived chan received

	// safe for all
	keys          *helloKeys
	creds         atomic.Pointer[credentials]
	count         counters
	sessionNumber atomic.Uint64
	datagrams     sync.Pool // *datagram
	packets       sync.Pool // *[]byte
	tasks         sync.WaitGroup
	reloading     sync.Mutex
	dialing       sync.Mutex // so that two dials make one session

	mu       sync.Mutex // guards what follows; never held while a session's is wanted
	table    sessionTable
	shutting bool
}

// received is a decrypted packet.
type received struct {
	from Peer
	b    *[]byte
}

// ListenDTLS binds a UDP socket for DTLS servers and reads the files; port 0 takes a free one. Clients have to prove
// themselves, by a certificate of our authorities or by a pre-shared key. The error says of each setting and file what is
// wrong with it.
func ListenDTLS(addr netip.AddrPort, cfg SecureConfig, log zerolog.Logger) (*DTLSLink, error) {
	l, err := newDTLSLink(addr, cfg, serving, log)
	if err != nil {
		return nil, fmt.Errorf("listen for SCTP over DTLS on %s: %w", addr, err)
	}
	return l, nil
}

// OpenDTLS binds a UDP socket for DTLS clients and reads the files: Dial over the link sets a session up with the address
// dialled, or takes the one that there is. Nobody is served.
func OpenDTLS(local netip.AddrPort, cfg SecureConfig, log zerolog.Logger) (*DTLSLink, error) {
	l, err := newDTLSLink(local, cfg, dialling, log)
	if err != nil {
		return nil, fmt.Errorf("open %s for DTLS: %w", local, err)
	}
	return l, nil
}

func newDTLSLink(addr netip.AddrPort, cfg SecureConfig, r role, log zerolog.Logger) (*DTLSLink, error) {
	if err := errors.Join(cfg.validate(r), checkPion()); err != nil {
		return nil, err
	}
	now := time.Now()
	creds, err := loadCredentials(cfg, r, now)
	if err != nil {
		return nil, err
	}
	socket, err := listenSocket(addr)
	if err != nil {
		return nil, err
	}
	l := &DTLSLink{
		cfg: cfg, serves: r == serving, socket: socket, log: log, pionLog: &pionLogger{log: log}, grumble: rate.NewLimiter(5, 20),
		begun: now, closed: make(chan struct{}), arrived: make(chan received, receivedLen), keys: newHelloKeys(now), table: newSessionTable(),
		datagrams: sync.Pool{New: func() any { return new(datagram) }},
		packets:   sync.Pool{New: func() any { return new([]byte) }},
	}
	l.creds.Store(creds)
	return l, nil
}

// checkPion refuses a pion/dtls with which no handshake of the front would come through.
func checkPion() error {
	state, _ := reflect.TypeFor[dtls.Conn]().FieldByName("state")
	if state.Type != nil && state.Type.Kind() == reflect.Struct {
		if cookie, ok := state.Type.FieldByName("cookie"); ok && cookie.Type == reflect.TypeFor[[]byte]() {
			return nil
		}
	}
	return errors.New("this build's pion/dtls has no Conn.state.cookie any more: see pionCookie")
}

// Mode implements Link.
func (l *DTLSLink) Mode() Mode { return ModeDTLS }

// LocalAddr implements Link.
func (l *DTLSLink) LocalAddr() netip.AddrPort { return boundAddr(l.socket) }

// ReadPacket implements Link.
func (l *DTLSLink) ReadPacket(b []byte) (int, Peer, error) {
	select {
	case p := <-l.arrived:
		n := copy(b, *p.b)
		l.packets.Put(p.b)
		return n, p.from, nil
	case <-l.closed:
		return 0, Peer{}, net.ErrClosed
	}
}

// deliver hands a decrypted packet to ReadPacket; it waits for room, so that the session's queue fills.
func (l *DTLSLink) deliver(s *session, b []byte) {
	p, _ := l.packets.Get().(*[]byte)
	*p = append((*p)[:0], b...)
	select {
	case l.arrived <- received{from: Peer{Addr: s.begin, session: s}, b: p}:
	case <-s.done:
	case <-l.closed:
	}
}

// WritePacket implements Link. The error is ErrClosed when the session has ended.
func (l *DTLSLink) WritePacket(b []byte, to Peer) error {
	if to.session == nil || to.session.link != l {
		return fmt.Errorf("send to %s: no DTLS session", to.Addr)
	}
	return to.session.write(b)
}

// Sessions is how many there are, handshakes under way included.
func (l *DTLSLink) Sessions() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.table.all)
}

// Close implements Link: it ends all sessions, whose peers are told, and returns when their goroutines have ended.
func (l *DTLSLink) Close() error {
	l.mu.Lock()
	if l.shutting {
		l.mu.Unlock()
		return nil
	}
	l.shutting = true
	l.mu.Unlock()
	for _, s := range l.sessions() {
		s.end(ClosedSessions, &CloseError{Reason: EndpointClosed})
	}
	close(l.closed)
	l.tasks.Wait()
	return l.socket.Close()
}

func (l *DTLSLink) sessions() []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*session, 0, len(l.table.all))
	for s := range l.table.all {
		list = append(list, s)
	}
	return list
}

func (l *DTLSLink) tally() *counters { return &l.count }

// cid is the length of connection IDs in records that come this way.
func (l *DTLSLink) cid() int {
	if l.serves {
		return cidLen
	}
	return 0
}

// run reads the socket until Close, and sweeps.
func (l *DTLSLink) run() error {
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(l.sweep)
	buffer := make([]byte, maxDatagram+1) // one more, to see what is too long
	for failures := 0; ; {
		n, from, err := l.socket.ReadFromUDPAddrPort(buffer)
		switch {
		case err == nil:
			failures = 0
			l.receive(buffer[:n], unmapped(from), time.Now())
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			if failures++; failures == maxLinkErrors {
				return err
			}
		}
	}
}

// receive routes a datagram. It never waits.
func (l *DTLSLink) receive(b []byte, from netip.AddrPort, now time.Time) {
	if len(b) > maxDatagram {
		l.count.add(OversizedPackets)
		return
	}
	if l.serves && isClientHello(b) {
		l.greet(b, from, now)
		return
	}
	if s := l.find(b, from); s != nil {
		s.take(b, from, now)
		return
	}
	l.count.add(UnknownRecords)
}

// clock is a moment in ns since the link was opened, whatever the machine's clock has been set to meanwhile.
func (l *DTLSLink) clock(now time.Time) int64 { return int64(now.Sub(l.begun)) }

// sweep ends sessions that nobody uses, and those whose certificate has expired.
func (l *DTLSLink) sweep() {
	ticker := time.NewTicker(min(l.cfg.IdleTimeout/4, 10*time.Second))
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, s := range l.sessions() {
				s.expire(now)
			}
		case <-l.closed:
			return
		}
	}
}

func (s *session) expire(now time.Time) {
	switch {
	case !s.open.Load(): // the handshake has its own time
	case !s.until.IsZero() && now.After(s.until):
		s.revoke(fmt.Errorf("the certificate of %q, or one between it and its authority, expired on %s", s.identity.Name,
			s.until.Format(time.RFC3339)))
	case s.idle() && s.link.clock(now)-s.used.Load() > int64(s.link.cfg.IdleTimeout):
		s.end(IdleSessions, &CloseError{Reason: SessionEnded, Detail: "no association used the DTLS session"})
	}
}

func (s *session) revoke(why error) {
	s.link.log.Info().Stringer("peer", s.address()).Stringer("identity", s.identity).Err(why).Msg("DTLS session revoked")
	s.end(RevokedSessions, &CloseError{Reason: SessionEnded, Detail: why.Error()})
}

func (l *DTLSLink) role() role {
	if l.serves {
		return serving
	}
	return dialling
}

// Reload reads the files again. New handshakes go by what they hold; sessions whose pre-shared key or certificate would
// not be taken any more end, and their associations. When anything in the files is wrong, nothing changes, and the error
// says what.
func (l *DTLSLink) Reload() error {
	l.reloading.Lock()
	defer l.reloading.Unlock()
	now := time.Now()
	creds, err := loadCredentials(l.cfg, l.role(), now)
	if err != nil {
		return fmt.Errorf("reload the files of DTLS on %s, what was read before stays: %w", l.LocalAddr(), err)
	}
	l.creds.Store(creds)
	for _, s := range l.sessions() {
		if !s.open.Load() {
			continue // shake looks at the credentials after it has opened the session
		}
		if err := s.valid(creds, now); err != nil {
			s.revoke(err)
		}
	}
	return nil
}

// complain logs why a handshake failed, a few a second at most: what comes from outside must not fill the log.
func (l *DTLSLink) complain(s *session, why *refusal) {
	if l.grumble.Allow() {
		l.log.Warn().Stringer("peer", s.begin).Str("reason", why.counter.String()).Err(why.err).Msg("DTLS handshake failed")
	}
}

// connect sets a session up, or takes the one that there is with the address; it waits for the handshake.
func (l *DTLSLink) connect(ctx context.Context, to netip.AddrPort) (Peer, error) {
	if l.serves {
		return Peer{}, errors.New("the link is that of a DTLS server: dial over one of OpenDTLS")
	}
	s, err := l.sessionWith(to) //nolint:contextcheck // the session outlives the dial that makes it
	if err != nil {
		return Peer{}, err
	}
	select {
	case <-s.ready:
		if why := s.why(); why != nil {
			return Peer{}, fmt.Errorf("set up DTLS: %w", handshakeError(why))
		}
		return Peer{Addr: s.begin, session: s}, nil
	case <-ctx.Done():
		return Peer{}, fmt.Errorf("set up DTLS: %w", ctx.Err())
	}
}

// handshakeError is a session's end without the words of an association's.
func handshakeError(why *CloseError) error {
	if why.Reason == EndpointClosed || why.Detail == "" {
		return why
	}
	return errors.New(why.Detail)
}
