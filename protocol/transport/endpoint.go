package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport/packet"
)

// errRefusing is for a dial while the endpoint shuts down.
var errRefusing = errors.New("endpoint is shutting down")

// maxLinkErrors is how many reads in a row may fail before Run gives the link up.
const maxLinkErrors = 100

// Endpoint serves and dials associations over one Link. Run must run for anything to happen.
type Endpoint struct {
	// static after New
	cfg     Config
	link    Link
	log     zerolog.Logger
	pionLog *pionLogger
	cookies cookieKey
	table   *registry
	backlog chan *Association // refuses when full
	ended   chan struct{}     // closed when Run ends

	// safe for all
	count    counters
	packets  sync.Pool // *packetBuffer
	refusing atomic.Bool
	tasks    sync.WaitGroup // goroutines of associations
}

// New checks the configuration and starts nothing. The endpoint owns the link from then on: Run closes it.
func New(link Link, cfg Config, log zerolog.Logger) (*Endpoint, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure SCTP: %w", err)
	}
	key, err := newCookieKey()
	if err != nil {
		return nil, err
	}
	return &Endpoint{
		cfg: cfg, link: link, log: log, pionLog: &pionLogger{log: log}, cookies: key,
		table:   newRegistry(cfg.MaxAssociations),
		backlog: make(chan *Association, cfg.AcceptBacklog),
		ended:   make(chan struct{}),
		packets: sync.Pool{New: func() any { return new(packetBuffer) }},
	}, nil
}

// Run serves until ctx ends, which is no error, or the link fails. It then aborts every association that is left with
// EndpointClosed, closes the link and returns when all goroutines have ended. Call it once.
func (e *Endpoint) Run(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	e.tasks.Go(func() { failed <- e.readLoop(); stop() })
	e.tasks.Go(func() { e.beat(running) })
	<-running.Done()
	e.refusing.Store(true)
	e.table.close()
	for _, a := range e.table.all() {
		a.abort(&CloseError{Reason: EndpointClosed}, causeUserAbort, "endpoint closed")
	}
	closing := e.link.Close()
	close(e.ended)
	e.tasks.Wait()
	if err := <-failed; err != nil {
		return fmt.Errorf("read SCTP packets: %w", err)
	}
	if closing != nil {
		return fmt.Errorf("close the SCTP link: %w", closing)
	}
	return nil
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

// LocalAddr is the address of the link.
func (e *Endpoint) LocalAddr() netip.AddrPort { return e.link.LocalAddr() }

// Stats takes a snapshot of the counters.
func (e *Endpoint) Stats() Stats {
	s := e.count.snapshot()
	s.Associations = e.table.len()
	return s
}

func (e *Endpoint) readLoop() error {
	buffer := make([]byte, 1<<16)
	for failures := 0; ; {
		n, from, err := e.link.ReadPacket(buffer)
		switch {
		case err == nil:
			failures = 0
			e.handle(buffer[:n], from)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			if failures++; failures == maxLinkErrors {
				return err
			}
		}
	}
}

// send finishes a packet and gives it to the link. A passing error counts and is forgotten: SCTP repeats what matters.
func (e *Endpoint) send(b []byte, to netip.AddrPort) {
	packet.PutChecksum(b)
	if err := e.link.WritePacket(b, to); err != nil {
		e.count.add(SendErrors)
		return
	}
	e.count.add(PacketsSent)
	e.count.addN(BytesSent, len(b))
}

// beat keeps the heartbeats of all associations, and their deadlines.
func (e *Endpoint) beat(ctx context.Context) {
	ticker := time.NewTicker(max(e.cfg.HeartbeatInterval/16, 2*time.Millisecond))
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
