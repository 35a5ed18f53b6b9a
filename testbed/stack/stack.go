// Package stack runs a whole installation in one process: NATS inside it, a private
// redis-server, a dispatcher and processors. `skyring up` and a replay without a
// target are this.
//
//	         Start                                    Stop
//	NATS, Redis (where none is named)        servers
//	bus connections, store                   connections      ^
//	endpoint                                 endpoint         |
//	processors                               processors drain |
//	dispatcher                               dispatcher drains|
//
// The parts are those that a control centre runs as processes of their own, with the
// same wiring: they meet on NATS and in Redis only.
package stack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/dispatcher/routing"
	"skyring/processor"
	"skyring/processor/essp"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/statestore"
)

// readyTimeout is how long Start waits for the dispatcher to know all processors.
const readyTimeout = 15 * time.Second

// Stack is a running installation. Make it with Start and end it with Stop.
type Stack struct {
	// static after Start
	log        zerolog.Logger
	cfg        Config
	warning    string
	store      *statestore.Store // the processors'
	look       *statestore.Store // of who only looks
	conns      []*bus.Conn       // the dispatcher's, then each processor's
	dispatcher *dispatcher.Dispatcher
	nodes      []*processor.Processor
	endpoint   *transport.Endpoint
	stops      []func() error // of servers and connections
	halt       context.CancelFunc
	done       chan struct{} // closed when every part has ended

	mu   sync.Mutex
	errs []error // of parts that failed; guarded by mu
}

// Start starts everything and returns when the dispatcher knows all processors. ctx
// bounds the start alone; the stack runs until Stop, or until a part of it fails (see Done).
func Start(ctx context.Context, cfg Config, log zerolog.Logger) (*Stack, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	s := &Stack{cfg: cfg, log: log, done: make(chan struct{}), halt: func() {}}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.stopServers())
	}

	if err := s.awaitProcessors(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}

	return s, nil
}

// listen listens for stations.
func (s *Stack) listen() (*transport.Endpoint, error) {
	listeners := s.cfg.Listeners
	if len(listeners) == 0 {
		listeners = []transport.Listener{{Mode: transport.ModeUDP, Address: s.cfg.Listen}}
	}

	links, err := transport.OpenListeners(listeners, s.log)
	if err != nil {
		return nil, err
	}

	endpoint, err := transport.NewOver(links, s.cfg.Transport, s.log)
	if err != nil {
		for _, l := range links {
			err = errors.Join(err, l.Close())
		}
	}

	return endpoint, err
}

// open starts the servers, makes the parts and lets them run.
func (s *Stack) open(ctx context.Context) error {
	if err := s.startServers(ctx); err != nil {
		return err
	}

	if err := s.connect(ctx); err != nil {
		return err
	}

	endpoint, err := s.listen()
	if err != nil {
		return err
	}

	s.endpoint = endpoint

	if s.nodes, err = s.processors(ctx); err != nil {
		return errors.Join(err, endpoint.Discard())
	}

	if s.dispatcher, err = dispatcher.New(s.cfg.Dispatcher, endpoint, s.conns[0], s.log); err != nil {
		return errors.Join(err, endpoint.Discard())
	}

	running, halt := context.WithCancel(context.WithoutCancel(ctx))
	s.halt = halt

	go s.run(running, endpoint)

	return nil
}

func (s *Stack) processors(ctx context.Context) ([]*processor.Processor, error) {
	handlers, err := essp.Handlers(ctx, s.cfg.ESSP, s.store, processor.NewHandlers(ledger.Handler{}))
	if err != nil {
		return nil, err
	}

	var all []*processor.Processor

	for i := 1; i <= s.cfg.Processors; i++ {
		cfg := s.cfg.Processor
		cfg.ID = processorID(cfg.ID, i)

		p, err := processor.New(cfg, s.store, s.conns[i], handlers, s.log)
		if err != nil {
			return nil, err
		}

		all = append(all, p)
	}

	return all, nil
}

// run runs the parts until ctx ends or one fails. The dispatcher drains first, while
// the processors still answer, then they, and the endpoint last.
func (s *Stack) run(ctx context.Context, endpoint *transport.Endpoint) {
	defer close(s.done)

	late := context.WithoutCancel(ctx)
	processing, stopProcessors := context.WithCancel(late)
	linking, stopEndpoint := context.WithCancel(late)
	serving, stopDispatcher := context.WithCancel(ctx)

	defer stopDispatcher()

	var nodes, link sync.WaitGroup

	link.Go(func() {
		s.keep("SCTP endpoint", endpoint.Run(linking))
		stopDispatcher()
	})

	for _, p := range s.nodes {
		nodes.Go(func() {
			if err := p.Run(processing); err != nil {
				s.keep("processor", err)
				stopDispatcher()
			}
		})
	}

	s.keep("dispatcher", s.dispatcher.Run(serving))
	stopProcessors()
	nodes.Wait()
	stopEndpoint()
	link.Wait()
}

// keep keeps the error of a part.
func (s *Stack) keep(part string, err error) {
	if err == nil {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.errs = append(s.errs, fmt.Errorf("%s: %w", part, err))
}

// awaitProcessors waits until the dispatcher may pick every processor.
func (s *Stack) awaitProcessors(ctx context.Context) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()

	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()

	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return errors.New("the stack ended while it started")
		case <-timeout.C:
			return fmt.Errorf("the dispatcher knows %d of %d processors after %s", s.known(), s.cfg.Processors, readyTimeout)
		case <-look.C:
			if s.known() == s.cfg.Processors {
				return nil
			}
		}
	}
}

// known is how many of the stack's own processors the dispatcher may pick: on servers that others use it knows theirs too.
func (s *Stack) known() int {
	open := map[string]bool{}
	for _, node := range s.dispatcher.Stats().Nodes {
		open[node.ID] = node.Status == routing.Open
	}

	n := 0

	for i := range s.cfg.Processors {
		if open[processorID(s.cfg.Processor.ID, i+1)] {
			n++
		}
	}

	return n
}

// Stop drains the dispatcher, then the processors, stops the servers that Start
// started, and returns what failed since Start. Call it once.
func (s *Stack) Stop() error {
	s.halt()
	<-s.done

	return errors.Join(append(s.errs, s.stopServers())...)
}

// Done is closed when the parts have ended: after Stop, or because one of them failed.
func (s *Stack) Done() <-chan struct{} { return s.done }

// Addr is the address at which SCTP arrives, the first one where there are several Listeners.
func (s *Stack) Addr() netip.AddrPort { return s.endpoint.LocalAddr() }

// Listeners are all addresses at which SCTP arrives, with their modes.
func (s *Stack) Listeners() []transport.Arrival { return s.endpoint.Listeners() }

// Reload has the listeners read certificates and keys again, see transport.Endpoint.Reload.
func (s *Stack) Reload() error { return s.endpoint.Reload() }

// NATS is the URL of the NATS server.
func (s *Stack) NATS() string { return s.cfg.NATS.URL }

// Redis is the URL of the Redis server.
func (s *Stack) Redis() string { return s.cfg.Redis.URL }

// Store is access to Redis for who looks what came of things: operations may take long.
func (s *Stack) Store() *statestore.Store { return s.look }

// Stats are the dispatcher's.
func (s *Stack) Stats() dispatcher.Stats { return s.dispatcher.Stats() }

// Register adds the metrics of all parts to a registry.
func (s *Stack) Register(r prometheus.Registerer) error {
	errs := []error{s.dispatcher.Register(r)}
	for _, p := range s.nodes {
		errs = append(errs, p.Register(r))
	}

	return errors.Join(errs...)
}

// Ready is nil when the dispatcher serves stations, else why not.
func (s *Stack) Ready() error { return s.dispatcher.Ready() }

// Warning is what the operator must know of the servers, empty for real ones.
func (s *Stack) Warning() string { return s.warning }
