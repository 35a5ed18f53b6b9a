package dispatcher

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/protocol/transport"
)

// Dispatcher takes messages from associations, has processors apply them, and tells
// the stations what became of them.
type Dispatcher struct {
	// static after New
	cfg         Config
	endpoint    *transport.Endpoint
	conn        *bus.Conn
	log         zerolog.Logger
	incarnation uint64
	began       time.Time
	subject     string        // ours, for answers
	changed     chan struct{} // one token: membership wants a look
	clockDoubt  chan struct{} // one token: the clock of Redis wants to be asked for
	drains      chan struct{} // closed when draining begins
	drained     chan struct{} // closed when all is answered, or has had its time

	count    counters
	courier  courier
	asker    asker
	twins    twins
	reading  atomic.Int32 // associations whose reading has not ended
	draining atomic.Bool
	unfit    atomic.Pointer[string] // why the configured policy cannot pick from the nodes that there are, nil: it can
	complete atomic.Bool            // all was answered when drained was closed
	unread   atomic.Uint64          // messages that SCTP has acknowledged and nobody took, as the dispatcher ended

	// set before drains is closed
	answerBy time.Time
	closeBy  time.Time

	mu           sync.Mutex
	core         *routing.Core            // guarded by mu
	associations map[uint64]*association  // by epoch; guarded by mu
	kicks        map[routing.Node]kick    // of the outbox writers; guarded by mu
	ready        []routing.Node           // scratch; guarded by mu
	key          [key.MaxLen]byte         // scratch; guarded by mu
	faults       [key.Faults]uint64       // messages by the fault of their key; guarded by mu
	protocols    [payloadProtocols]uint64 // messages by their payload protocol; guarded by mu
	rate         rateMeter                // guarded by mu
}

// kick is the token that wakes the writer of an outbox.
type kick chan struct{}

func (k kick) wake() {
	select {
	case k <- struct{}{}:
	default:
	}
}

// New makes a dispatcher that serves the associations of an endpoint. Endpoint and
// connection are the caller's: both must go on until Run has returned.
func New(cfg Config, endpoint *transport.Endpoint, conn *bus.Conn, log zerolog.Logger) (*Dispatcher, error) {
	if err := errors.Join(cfg.Validate(), cfg.fits(conn.MaxPayload())); err != nil {
		return nil, fmt.Errorf("dispatcher configuration: %w", err)
	}

	incarnation, seed := random64(), random64()

	d := &Dispatcher{
		cfg:          cfg,
		endpoint:     endpoint,
		conn:         conn,
		log:          log.With().Str("dispatcher", cfg.ID).Logger(),
		incarnation:  incarnation,
		began:        time.Now(),
		subject:      cfg.Namespace.Dispatcher(cfg.ID),
		changed:      make(chan struct{}, 1),
		clockDoubt:   make(chan struct{}, 1),
		drains:       make(chan struct{}),
		drained:      make(chan struct{}),
		core:         routing.New(cfg.routing(), seed),
		associations: make(map[uint64]*association),
		kicks:        make(map[routing.Node]kick),
		courier:      courier{outcomes: make(chan outcome, courierQueue)},
	}
	d.courier.count = &d.count

	return d, nil
}

func random64() uint64 {
	var b [8]byte

	_, _ = rand.Read(b[:]) // never fails

	return binary.BigEndian.Uint64(b[:])
}

// now is the time that the core goes by.
func (d *Dispatcher) now() time.Duration { return time.Since(d.began) }

// Run serves until ctx ends, then drains, within DrainTimeout: it accepts nothing more,
// brings all that SCTP has acknowledged to its commit, sends the replies and receipts, and
// shuts the associations down. Messages that are left are an error, and so is an endpoint
// that ends first. Call it once.
func (d *Dispatcher) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	subscriptions, err := d.subscribe()
	defer func() {
		for _, s := range subscriptions {
			if err := s.Unsubscribe(); err != nil {
				d.log.Debug().Err(err).Msg("unsubscribe")
			}
		}
	}()

	if err != nil {
		return err
	}

	asking, stopAsking := context.WithCancel(work)
	defer stopAsking()

	var background, serving sync.WaitGroup

	background.Go(func() { d.keepMembers(work) })
	background.Go(func() { d.keepClock(work) })
	background.Go(func() { d.carryOutcomes(work) })

	d.log.Info().Str("namespace", string(d.cfg.Namespace)).Stringer("address", d.endpoint.LocalAddr()).Msg("dispatcher serves")

	err = d.accept(ctx, func(link *transport.Association) {
		d.reading.Add(1)
		serving.Go(func() { d.serve(ctx, asking, work, link) })
	})
	err = errors.Join(err, d.drain(work, stopAsking, &serving))

	stop()
	background.Wait()

	return err
}

// accept serves associations until ctx or the endpoint ends, and those that wait then.
func (d *Dispatcher) accept(ctx context.Context, serve func(*transport.Association)) error {
	for refused := false; ; {
		link, err := d.endpoint.Accept(ctx)

		switch {
		case err == nil:
			serve(link)
		case ctx.Err() != nil && !refused:
			refused = true

			d.endpoint.Refuse() // then those that have come meanwhile
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is how it ends
		default:
			return fmt.Errorf("dispatcher %s: %w", d.cfg.ID, err)
		}
	}
}

// subscribe listens to answers, heartbeats and queries, and says hello.
func (d *Dispatcher) subscribe() ([]*bus.Subscription, error) {
	var all []*bus.Subscription

	for _, s := range []struct {
		subject string
		handle  func(bus.Message)
	}{
		{d.subject, d.onFrame},
		{d.cfg.Namespace.Heartbeats(), d.onHeartbeat},
		{d.cfg.Namespace.DispatcherStatuses(), d.onStatus},
		{d.cfg.Namespace.Whys(), d.onWhy},
		{d.cfg.Namespace.Hello(), d.onHello},
	} {
		subscription, err := d.conn.Subscribe(s.subject, s.handle)
		if err != nil {
			return all, fmt.Errorf("dispatcher %s: %w", d.cfg.ID, err)
		}

		all = append(all, subscription)
	}

	d.conn.OnDisconnect(d.onDisconnect)
	d.conn.OnReconnect(d.onReconnect)

	if !d.conn.Connected() {
		d.onDisconnect(nil)
	}

	d.hello()

	return all, nil
}

// with calls f with the core, then wakes the writers of outboxes that got something.
func (d *Dispatcher) with(f func(core *routing.Core, now time.Duration)) {
	d.mu.Lock()
	defer d.mu.Unlock()

	f(d.core, d.now())
	d.wake()
}

// wake wakes writers. The caller holds mu.
func (d *Dispatcher) wake() {
	d.ready = d.core.Ready(d.ready[:0])
	for _, n := range d.ready {
		if k := d.kicks[n]; k != nil { // a new node's writer looks as it starts
			k.wake()
		}
	}
}
