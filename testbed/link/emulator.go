package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const never = time.Duration(1<<63 - 1)

// Emulator is a bad link between clients and a target. Run must run for anything to pass.
type Emulator struct {
	// static after New
	cfg   Config
	log   zerolog.Logger
	front *net.UDPConn
	wake  chan struct{} // holds one: look at the agenda again

	tasks sync.WaitGroup // those who read sockets

	mu      sync.Mutex
	begun   time.Time // when Run started
	paths   [ways]path
	agenda  agenda
	clients map[netip.AddrPort]*client
	stats   Stats
	planned int           // changes of port by the configuration, so far
	swept   time.Duration // when silent clients were last looked for
	sleeps  time.Duration // until then nobody looks at the agenda
	closed  bool
}

// New checks the configuration and binds Listen; it starts nothing. Run gives the socket back.
func New(cfg Config, log zerolog.Logger) (*Emulator, error) {
	cfg.Listen, cfg.Target = unmap(cfg.Listen), unmap(cfg.Target)
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure the link:\n%w", err)
	}
	front, err := listen(cfg.Listen)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(front.SetReadBuffer(socketBuffer), front.SetWriteBuffer(socketBuffer)); err != nil {
		return nil, errors.Join(fmt.Errorf("size the buffers of UDP %s: %w", cfg.Listen, err), front.Close())
	}
	return &Emulator{
		cfg: cfg, log: log, front: front, wake: make(chan struct{}, 1),
		paths: [ways]path{
			ToTarget: {way: ToTarget, seed: cfg.Seed, terms: cfg.ToTarget},
			ToClient: {way: ToClient, seed: cfg.Seed, terms: cfg.ToClient},
		},
		agenda:  agenda{limit: cfg.MaxBuffered},
		clients: map[netip.AddrPort]*client{},
	}, nil
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// Addr is where clients send to.
func (e *Emulator) Addr() netip.AddrPort {
	bound, _ := e.front.LocalAddr().(*net.UDPAddr)
	return unmap(bound.AddrPort())
}

// Run relays until ctx ends, which is no error, or the socket for clients fails. It closes all sockets and returns when
// all goroutines have ended; what is under way then is dropped. Call it once.
func (e *Emulator) Run(ctx context.Context) error {
	e.mu.Lock()
	e.begun = time.Now()
	e.mu.Unlock()
	running, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	e.tasks.Go(func() { failed <- e.readFront(); stop() })
	e.deliver(running)
	closing := e.close()
	e.tasks.Wait()
	if err := <-failed; err != nil {
		return fmt.Errorf("read packets of clients: %w", err)
	}
	return closing
}

// close ends the readers, and drops what is under way.
func (e *Emulator) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, c := range e.clients {
		_ = c.socket.Close()
	}
	for d, ok := e.agenda.due(never); ok; d, ok = e.agenda.due(never) {
		e.stats.Ways[d.way].dropped[Ended]++
	}
	if err := e.front.Close(); err != nil {
		return fmt.Errorf("close the socket for clients: %w", err)
	}
	return nil
}

// Impair changes what happens to packets from now on; those under way are not touched. The times of outages count from
// the start of Run still.
func (e *Emulator) Impair(toTarget, toClient Direction) error {
	err := errors.Join(named(ToTarget.String(), toTarget.Validate()), named(ToClient.String(), toClient.Validate()))
	if err != nil {
		return fmt.Errorf("change the link:\n%w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paths[ToTarget].terms, e.paths[ToClient].terms = toTarget, toClient
	return nil
}

// Rebind has the target see every client at a new UDP port, at once: packets to the old ports are lost.
func (e *Emulator) Rebind() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rebind()
}

// rebind changes the ports; the caller holds mu.
func (e *Emulator) rebind() {
	if e.closed {
		return
	}
	e.stats.Rebinds++
	for _, c := range e.clients {
		e.renew(c)
	}
}

// Stats takes a snapshot.
func (e *Emulator) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Clients = len(e.clients)
	return s
}

// now counts from the start of Run.
func (e *Emulator) now() time.Duration { return time.Since(e.begun) }
