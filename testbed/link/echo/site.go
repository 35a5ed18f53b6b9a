package echo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
	"skyring/testbed/link"
)

// site is a server, a client and the link between them.
type site struct {
	// static after open
	cfg            Config
	server, client *transport.Endpoint
	emulator       *link.Emulator

	tasks sync.WaitGroup
}

func loopback() netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0) }

// open binds all sockets and starts nothing.
func open(cfg Config, log zerolog.Logger) (*site, error) {
	var sockets []*transport.UDPLink
	fail := func(err error) (*site, error) {
		for _, socket := range sockets {
			err = errors.Join(err, socket.Close())
		}
		return nil, err
	}
	s := &site{cfg: cfg}
	for _, into := range []**transport.Endpoint{&s.server, &s.client} {
		socket, err := transport.ListenUDP(loopback())
		if err != nil {
			return fail(err)
		}
		sockets = append(sockets, socket)
		if *into, err = transport.New(socket, cfg.SCTP, log); err != nil {
			return fail(err)
		}
	}
	between := link.DefaultConfig()
	between.Target, between.Seed = s.server.LocalAddr(), cfg.Seed
	calm := link.Direction{Delay: cfg.Link.Delay, Rate: cfg.Link.Rate, Queue: cfg.Link.Queue}
	between.Both(calm)
	var err error
	if s.emulator, err = link.New(between, log); err != nil {
		return fail(err)
	}
	return s, nil
}

// start runs all; stop ends them, and returns when they have ended.
func (s *site) start(ctx context.Context) (stop func() error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var parts sync.WaitGroup
	var errs [3]error
	parts.Go(func() { errs[0] = s.server.Run(running) })
	parts.Go(func() { errs[1] = s.client.Run(running) })
	parts.Go(func() { errs[2] = s.emulator.Run(running) })
	s.tasks.Go(func() { s.serve(running) })
	return func() error {
		cancel()
		parts.Wait()
		s.tasks.Wait()
		return errors.Join(errs[:]...)
	}
}

// serve sends back what comes.
func (s *site) serve(ctx context.Context) {
	for {
		a, err := s.server.Accept(ctx)
		if err != nil {
			return
		}
		s.tasks.Go(func() {
			_ = a.Receive(ctx, func(m transport.Message) { // the client tells when it ends
				_ = a.Send(ctx, m)
			})
		})
	}
}

// dial sets all associations up, side by side.
func (s *site) dial(ctx context.Context) ([]*transport.Association, error) {
	ctx, cancel := context.WithTimeout(ctx, setup)
	defer cancel()
	associations, errs := make([]*transport.Association, s.cfg.Associations), make([]error, s.cfg.Associations)
	var dialling sync.WaitGroup
	for i := range associations {
		dialling.Go(func() {
			associations[i], errs[i] = s.client.Dial(ctx, s.emulator.Addr(), transport.Dial{RemotePort: port})
		})
	}
	dialling.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("set the associations up: %w", err)
	}
	return associations, nil
}
