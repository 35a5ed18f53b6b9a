package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"skyring/protocol/transport/packet"
)

// errRefusing is for a dial while the endpoint shuts down.
var errRefusing = errors.New("endpoint is shutting down")

const (
	// MaxLinks is how many links an endpoint may have.
	MaxLinks = 64

	maxLinkErrors = 100 // reads in a row that may fail before Run gives the link up

	loggedEnds = 50 // a second, after a pause five times as many; what is beyond is for debugging, and in the counts

	slowestBeat = 250 * time.Millisecond // between two looks at the associations' clocks
)

// Endpoint serves and dials associations over one Link or several. Run must run for anything to happen.
type Endpoint struct {
	// static after New
	cfg      Config
	links    []Link
	outboxes []*outbox // of the links that write many packets at once; nil for others
	log      zerolog.Logger
	pionLog  *pionLogger
	grumble  *rate.Limiter // of lines in the log that a peer can cause
	begun    time.Time
	table    *registry
	backlog  chan *Association // refuses when full
	ended    chan struct{}     // closed when Run ends

	handling sync.Mutex // serialises the readers of links; what handle calls runs alone
	answers  *answerLimits
	cookies  *cookieKey
	inbound  inbound // the packet in hand, kept here so that none is allocated

	// safe for all
	count    counters
	ends     endCounters
	packets  sync.Pool // *packetBuffer
	refusing atomic.Bool
	tasks    sync.WaitGroup // goroutines of associations
}

// New checks the configuration and starts nothing. The endpoint owns the link from then on: Run closes it.
func New(link Link, cfg Config, log zerolog.Logger) (*Endpoint, error) {
	return NewOver([]Link{link}, cfg, log)
}

// NewOver is New for several links, 1 to MaxLinks, such as one for IPv4, one for IPv6 and one for DTLS. A peer belongs to
// the link it came by: nothing of its association moves to another.
func NewOver(links []Link, cfg Config, log zerolog.Logger) (*Endpoint, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure SCTP: %w", err)
	}
	if len(links) == 0 || len(links) > MaxLinks {
		return nil, fmt.Errorf("configure SCTP: %d links, 1 to %d may be", len(links), MaxLinks)
	}
	key, err := newCookieKey()
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		cfg: cfg, links: slices.Clone(links), log: log, pionLog: &pionLogger{log: log}, cookies: key, begun: time.Now(),
		answers: newAnswerLimits(cfg), grumble: rate.NewLimiter(loggedEnds, 5*loggedEnds),
		table:    newRegistry(cfg.MaxAssociations, cfg.MaxAssociationsPerSource),
		backlog:  make(chan *Association, cfg.AcceptBacklog),
		ended:    make(chan struct{}),
		packets:  sync.Pool{New: func() any { return new(packetBuffer) }},
		outboxes: make([]*outbox, len(links)),
	}
	for i, link := range links {
		if l, ok := link.(bulkWriting); ok {
			e.outboxes[i] = newOutbox(e, l, e.mtu(uint8(i)))
		}
	}
	return e, nil
}

// Run serves until ctx ends, which is no error, or a link fails. It then aborts every association that is left with
// EndpointClosed, closes the links and returns when all goroutines have ended. Call it once.
func (e *Endpoint) Run(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 2*len(e.links))
	for i, link := range e.links {
		e.tasks.Go(func() { failed <- e.readLoop(uint8(i)); stop() })
		if l, ok := link.(working); ok {
			e.tasks.Go(func() { failed <- l.run(); stop() })
		}
	}
	e.tasks.Go(func() { e.beat(running) })
	send := e.startOutboxes()
	<-running.Done()
	e.refusing.Store(true)
	e.table.close()
	for _, a := range e.table.all() {
		a.abort(&CloseError{Reason: EndpointClosed}, causeUserAbort, "endpoint closed")
	}
	send()
	closing := e.closeLinks()
	close(e.ended)
	e.tasks.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return fmt.Errorf("read SCTP packets: %w", err)
		}
	}
	return closing
}

func (e *Endpoint) closeLinks() error {
	var errs []error
	for _, link := range e.links {
		if err := link.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the SCTP link at %s: %w", link.LocalAddr(), err))
		}
	}
	return errors.Join(errs...)
}

// Accept waits for the next association that a peer has set up. The error is that of ctx, or ErrClosed after Run. One
// that waits is returned even when ctx has ended: who calls Refuse, and then Accept until it fails, has them all.
func (e *Endpoint) Accept(ctx context.Context) (*Association, error) {
	select {
	case a := <-e.backlog:
		return a, nil
	default:
	}
	select {
	case a := <-e.backlog:
		return a, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("accept an association: %w", ctx.Err())
	case <-e.ended:
		return nil, &CloseError{Reason: EndpointClosed}
	}
}

// Refuse refuses new associations from now on, INIT being answered with ABORT. Those that exist go on.
func (e *Endpoint) Refuse() {
	e.refusing.Store(true)
	e.table.close()
}

// Shutdown refuses new associations from now on, INIT being answered with ABORT, and closes those that exist: each is
// sent its SHUTDOWN, and an ABORT when ctx ends first. It returns when all have ended; the error is that of ctx.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.Refuse()
	var closing sync.WaitGroup
	for _, a := range e.table.all() {
		closing.Go(func() { _ = a.Close(ctx) }) // its reason is in the association's Err
	}
	closing.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("shut associations down: %w", err)
	}
	return nil
}

// LocalAddr is the address of the first link.
func (e *Endpoint) LocalAddr() netip.AddrPort { return e.links[0].LocalAddr() }

// LocalAddrs are the addresses of all links, in the order given to NewOver.
func (e *Endpoint) LocalAddrs() []netip.AddrPort {
	var addrs []netip.AddrPort
	for _, link := range e.links {
		addrs = append(addrs, link.LocalAddr())
	}
	return addrs
}

// Stats takes a snapshot of the counters, those of the links included.
func (e *Endpoint) Stats() Stats {
	s := e.count.snapshot()
	s.Associations = e.table.len()
	s.ends = e.ends.snapshot()
	for _, link := range e.links {
		if l, ok := link.(counting); ok {
			l.tally().addTo(&s)
		}
		if l, ok := link.(*DTLSLink); ok {
			s.Sessions += l.Sessions()
		}
	}
	return s
}

// Reload has every link read its files again: certificates, authorities, pre-shared keys. A link whose files are wrong
// keeps what it has, and the error says what is wrong. It may be called at any time.
func (e *Endpoint) Reload() error {
	var errs []error
	for _, link := range e.links {
		if l, ok := link.(*DTLSLink); ok {
			errs = append(errs, l.Reload())
		}
	}
	return errors.Join(errs...)
}

// clock is a moment as the time since New.
func (e *Endpoint) clock(now time.Time) time.Duration { return now.Sub(e.begun) }

// mtu is the longest SCTP packet to send over a link.
func (e *Endpoint) mtu(link uint8) uint32 {
	if e.links[link].Mode() == ModeDTLS {
		return min(e.cfg.MaxPacket, maxPacket) - dtlsOverhead
	}
	return e.cfg.MaxPacket
}

func (e *Endpoint) readLoop(link uint8) error {
	read := e.reader(link)
	for failures := 0; ; {
		err := read()
		switch {
		case err == nil:
			failures = 0
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			if failures++; failures == maxLinkErrors {
				return err
			}
		}
	}
}

// reader gives the way to read packets off a link and handle them.
func (e *Endpoint) reader(link uint8) (read func() error) {
	if l, ok := e.links[link].(batching); ok {
		handle := func(b []byte, from Peer) { e.handle(b, place{Peer: from, link: link}) }
		return func() error { return l.readPackets(handle) }
	}
	buffer := make([]byte, 1<<16)
	return func() error {
		n, from, err := e.links[link].ReadPacket(buffer)
		if err == nil {
			e.handle(buffer[:n], place{Peer: from, link: link})
		}
		return err
	}
}

// startOutboxes has packets written in bulk until the function is called that it gives, which sends those that are left.
func (e *Endpoint) startOutboxes() (stop func()) {
	var running sync.WaitGroup
	for _, o := range e.outboxes {
		if o != nil {
			running.Go(o.run)
		}
	}
	return func() {
		for _, o := range e.outboxes {
			if o != nil {
				o.close()
			}
		}
		running.Wait()
	}
}

// send gives a packet to the link, or to its outbox, and keeps nothing of it. A passing error counts and is forgotten: SCTP
// repeats what matters.
func (e *Endpoint) send(b []byte, to place) {
	if o := e.outboxes[to.link]; o != nil {
		if o.add(b, to) {
			return
		}
		defer o.wrote()
	}
	packet.PutChecksum(b)
	if err := e.links[to.link].WritePacket(b, to.Peer); err != nil {
		e.count.add(SendErrors)
		return
	}
	e.count.add(PacketsSent)
	e.count.addN(BytesSent, len(b))
}

// beat keeps the heartbeats of all associations, and their deadlines.
func (e *Endpoint) beat(ctx context.Context) {
	ticker := time.NewTicker(min(max(e.cfg.HeartbeatInterval/16, 2*time.Millisecond), slowestBeat))
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, a := range e.table.all() {
				a.beat(now)
			}
		case <-ctx.Done():
			return
		}
	}
}
