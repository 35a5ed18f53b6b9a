package realrun

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/dispatcher/routing"
	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/servers"
	"skyring/testbed/simulate"
)

const (
	readyTimeout = 20 * time.Second // for the dispatcher to know all nodes
	never        = 20 * time.Second // what must not happen while a node is only busy: moves and probes
	noLimit      = 1 << 20          // messages in flight
	drainQuiet   = 10 * time.Millisecond
	sctpPort     = 7000 // the dispatcher serves all
)

// installation is what a round runs against, and the associations into it. It is as the product is by default but for this: nodes have no limits, as in the
// simulation, and are not taken for dead because they work long.
type installation struct {
	// static after open
	log        zerolog.Logger
	dispatcher *dispatcher.Dispatcher
	nodes      []*node
	links      []*transport.Association
	fail       context.CancelCauseFunc // with what part failed
	release    chan struct{}           // closed when nobody waits for answers any more
	stops      []func() error
}

// open starts an installation for a load. fail is called by a part that ends before it is told to. Whatever open returns is to be closed.
func open(ctx context.Context, load simulate.Config, dir string, fail context.CancelCauseFunc, log zerolog.Logger) (*installation, error) {
	in := &installation{log: log, fail: fail, release: make(chan struct{})}

	natsURL, store, err := in.openServers(ctx, dir)
	if err != nil {
		return in, err
	}

	connect := func(name string) (*bus.Conn, error) {
		cfg := bus.DefaultConfig()
		cfg.URL = natsURL

		conn, err := bus.Connect(ctx, cfg, name, log)
		if err == nil {
			in.onStop(func() error { conn.Close(); return nil })
		}

		return conn, err
	}

	for i, n := range load.Nodes {
		conn, err := connect(nodeID(i))
		if err != nil {
			return in, err
		}

		if err := in.startNode(ctx, i, n, store, conn); err != nil {
			return in, err
		}
	}

	conn, err := connect(dispatcher.DefaultConfig().ID)
	if err != nil {
		return in, err
	}

	address, err := in.startDispatcher(ctx, load, conn)
	if err != nil {
		return in, err
	}

	if err := in.awaitNodes(ctx, len(load.Nodes)); err != nil {
		return in, err
	}

	return in, in.dial(ctx, load, address)
}

// openServers starts NATS and redis-server.
func (in *installation) openServers(ctx context.Context, dir string) (natsURL string, store *statestore.Store, err error) {
	nats, err := servers.StartNATS(ctx, servers.NATSConfig{})
	if err != nil {
		return "", nil, err
	}

	in.onStop(func() error { nats.Shutdown(); return nil })

	redis, err := servers.StartRedis(ctx, servers.DefaultRedisConfig(dir))
	if err != nil {
		return "", nil, err
	}

	in.onStop(func() error { return redis.Stop(context.WithoutCancel(ctx)) })

	cfg := statestore.DefaultConfig()
	cfg.URL = redis.URL()

	if store, err = statestore.Open(ctx, cfg, in.log); err != nil {
		return "", nil, err
	}

	in.onStop(store.Close)

	return nats.URL(), store, nil
}

// nodeID is the name that the simulation gives a node: rings lay stations by names.
func nodeID(i int) string { return fmt.Sprintf("node-%05d", i+1) }

// startNode starts a processor whose workers take one message after the other.
func (in *installation) startNode(ctx context.Context, i int, n simulate.Node, store *statestore.Store, conn *bus.Conn) error {
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.Capacity, cfg.Workers = nodeID(i), n.Capacity, n.Workers
	cfg.Batch, cfg.DrainQuiet = 1, drainQuiet

	handler := newNode(i, in.release)

	p, err := processor.New(cfg, store, conn, processor.NewHandlers(handler), in.log)
	if err != nil {
		return err
	}

	in.nodes = append(in.nodes, handler)
	in.launch(ctx, cfg.ID, p.Run)

	return nil
}

// startDispatcher starts a dispatcher and returns the UDP address at which it serves.
func (in *installation) startDispatcher(ctx context.Context, load simulate.Config, conn *bus.Conn) (netip.AddrPort, error) {
	endpoint, err := in.listen(ctx, "the dispatcher's SCTP", transport.DefaultConfig())
	if err != nil {
		return netip.AddrPort{}, err
	}

	cfg := dispatcher.DefaultConfig()
	cfg.Policy, cfg.RingBits, cfg.RingEpsilon = load.Policy, load.Options.Ring.Bits, load.Options.Ring.Epsilon
	cfg.ESSPPPID = ppid
	cfg.FrameMessages, cfg.Window = 1, load.Window
	cfg.InFlightLimit, cfg.HardCap = noLimit, 0
	cfg.CPUThreshold, cfg.MemoryThreshold, cfg.RateThreshold = 0, 0, 0
	cfg.Deadline, cfg.DeadlineMax, cfg.Probe, cfg.Expiry = never, never, never, 2*never

	if in.dispatcher, err = dispatcher.New(cfg, endpoint, conn, in.log); err != nil {
		return netip.AddrPort{}, err
	}

	in.launch(ctx, "dispatcher", in.dispatcher.Run)

	return endpoint.LocalAddr(), nil
}

// listen starts an SCTP endpoint on a free port.
func (in *installation) listen(ctx context.Context, name string, cfg transport.Config) (*transport.Endpoint, error) {
	link, err := transport.ListenUDP(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0))
	if err != nil {
		return nil, err
	}

	endpoint, err := transport.New(link, cfg, in.log)
	if err != nil {
		return nil, errors.Join(err, link.Close())
	}

	in.launch(ctx, name, endpoint.Run)

	return endpoint, nil
}

// dial sets up the associations by which stations come, as many as in the simulation.
func (in *installation) dial(ctx context.Context, load simulate.Config, to netip.AddrPort) error {
	cfg := transport.DefaultConfig()
	cfg.AcceptBacklog = 0

	endpoint, err := in.listen(ctx, "the stations' SCTP", cfg)
	if err != nil {
		return err
	}

	n := load.Stations.Associations
	if n == 0 {
		n = max(1, load.Stations.Count/100)
	}

	for range n {
		link, err := endpoint.Dial(ctx, to, transport.Dial{RemotePort: sctpPort})
		if err != nil {
			return err
		}

		in.onStop(func() error { return link.Close(context.WithoutCancel(ctx)) })
		in.links = append(in.links, link)
	}

	return nil
}

// awaitNodes waits until the dispatcher's policy knows so many nodes.
func (in *installation) awaitNodes(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()

	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()

	for {
		known := 0

		for _, n := range in.dispatcher.Stats().Nodes {
			if n.Member && n.Status == routing.Open {
				known++
			}
		}

		if known == want {
			return nil
		}

		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("the dispatcher knows %d of %d nodes: %w", known, want, context.Cause(ctx))
		}
	}
}

// launch runs a part until it is stopped.
func (in *installation) launch(ctx context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)

	go func() {
		err := run(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			in.fail(err)
		}

		ended <- err
	}()

	in.onStop(func() error {
		cancel()

		return <-ended
	})
}

func (in *installation) onStop(act func() error) { in.stops = append(in.stops, act) }

// close undoes, the latest first, what open did, and returns what failed since.
func (in *installation) close() error {
	close(in.release)

	var faults []error
	for _, stop := range slices.Backward(in.stops) {
		faults = append(faults, stop())
	}

	return errors.Join(faults...)
}
