package processor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"skyring/processor/load"
	"skyring/protocol/bus"
	"skyring/statestore"
)

// Processor is one node. Make it with New, then Run it once.
type Processor struct {
	// static after New
	cfg         Config
	store       *statestore.Store
	conn        *bus.Conn
	log         zerolog.Logger
	engine      engine
	incarnation uint64
	workers     []*worker
	meter       *meter
	sampler     *load.Sampler                 // used by beats
	stop        chan struct{}                 // closed by Run when nothing more is taken
	announce    chan struct{}                 // holds one wish for a heartbeat before its time
	looks       chan look                     // full: it is looked another time
	crash       func(crashPoint, *event) bool // for tests alone, nil else: this process forgets all it is about to do

	counters
	sometimes rate.Sometimes // for log lines that could come once per message
	alarms    rate.Sometimes // the same for lost writes
	away      atomic.Bool    // the store did not answer, and is not back for long enough
	failed    atomic.Int64   // when it did not answer last; ns since the Unix epoch
	clock     clock          // the store's
	queued    atomic.Int64   // events that wait for workers, or are worked on

	leases     leases
	deliveries deliveries

	floor uint64 // owned by tend: the highest epoch that is known to have been given

	deciding sync.Mutex // held while what operators decide is written to the store; taken before mu

	mu       sync.Mutex
	state    bus.NodeState // guarded by mu
	drained  bool          // guarded by mu; by an operator
	ending   bool          // guarded by mu; Run drains and ends
	sequence uint64        // guarded by mu; of the last heartbeat
	last     bus.Heartbeat // guarded by mu
	load     load.Load     // guarded by mu; as it was measured last
	capacity capacity      // guarded by mu
}

// frameOverhead is more than a frame of one answer or delivery has beside the payload.
const frameOverhead = 64

// crashPoint is where a process can end between two steps that belong together.
type crashPoint uint8

const (
	beforeBatch crashPoint = iota // nothing was done
	afterCommit                   // nothing was told
	telling                       // one of several was not told
)

// New makes a processor for sessions in store, spoken to over conn; it closes neither. It starts nothing.
func New(cfg Config, store *statestore.Store, conn *bus.Conn, handlers Handlers, log zerolog.Logger) (*Processor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("processor: %w", err)
	}
	if handlers.standard == nil {
		return nil, errors.New("processor: no handler for messages that have none of their own")
	}
	now := time.Now()
	sampler, err := load.New("/")
	if err != nil {
		log.Warn().Err(err).Str("node", cfg.ID).Msg("load of the node is not complete")
	}
	p := &Processor{
		cfg: cfg, store: store, conn: conn, log: log.With().Str("node", cfg.ID).Logger(),
		engine:      engine{handlers: handlers, node: cfg.ID, longest: cfg.LongestExpiry.Microseconds(), largest: conn.MaxPayload() - frameOverhead},
		incarnation: rand.Uint64(),
		meter:       newMeter(now),
		sampler:     sampler,
		capacity:    newCapacity(cfg, now),
		stop:        make(chan struct{}),
		announce:    make(chan struct{}, 1),
		looks:       make(chan look, lookQueue),
		leases:      leases{members: map[string]time.Time{}, adopted: map[int]time.Time{}},
		deliveries:  deliveries{waiting: map[uint64]delivery{}, counts: map[string]int{}},
		sometimes:   rate.Sometimes{Interval: time.Second},
		alarms:      rate.Sometimes{Interval: time.Second},
		state:       bus.Starting,
	}
	for range cfg.Workers {
		w, err := newWorker(p)
		if err != nil {
			return nil, fmt.Errorf("processor: %w", err)
		}
		p.workers = append(p.workers, w)
	}
	return p, nil
}

// Run serves until ctx ends; then it drains: it says so, finishes what comes until it was quiet for DrainQuiet or DrainTimeout is over, and leaves.
// It returns when all its goroutines have ended; answers have been handed to the connection.
func (p *Processor) Run(ctx context.Context) error {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	p.readClock(working)

	var group sync.WaitGroup
	for _, w := range p.workers {
		group.Go(func() { w.run(working, p.stop) })
	}
	group.Go(func() { p.beats(working) })
	group.Go(func() { p.tend(working) })
	subscriptions, err := p.subscribe(working)
	if err == nil {
		p.begin(ctx)
		<-ctx.Done()
		p.drain()
	}
	for _, s := range subscriptions {
		err = errors.Join(err, s.Unsubscribe())
	}
	p.become(bus.Leaving)
	late := time.AfterFunc(p.cfg.DrainTimeout, cancel)
	defer late.Stop()
	close(p.stop)
	group.Wait()
	return err
}

// drain waits until nothing comes any more.
func (p *Processor) drain() {
	p.become(bus.Draining)
	p.log.Info().Int64("inFlight", p.meter.inFlight.Load()).Msg("draining")
	deadline := time.NewTimer(p.cfg.DrainTimeout)
	defer deadline.Stop()
	began := time.Now()
	tick := time.NewTicker(max(p.cfg.DrainQuiet/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if p.queued.Load()+int64(p.deliveries.count()) == 0 && min(p.meter.quiet(now), now.Sub(began)) >= p.cfg.DrainQuiet {
				p.log.Info().Stringer("took", now.Sub(began).Round(time.Millisecond)).Msg("drained")
				return
			}
		case <-deadline.C:
			p.log.Warn().Int64("inFlight", p.meter.inFlight.Load()).Msg("not drained in time, dispatchers send the rest elsewhere")
			return
		}
	}
}

// subscribe takes frames, questions and hellos.
func (p *Processor) subscribe(ctx context.Context) ([]*bus.Subscription, error) {
	var all []*bus.Subscription
	ns := p.cfg.Namespace
	for _, s := range []struct {
		subject string
		handle  func(bus.Message)
	}{
		{ns.Ask(p.cfg.ID), func(m bus.Message) { p.ask(ctx, m) }},
		{ns.Node(p.cfg.ID), p.frame},
		{ns.Hello(), func(bus.Message) { p.wish() }},
		{ns.Delivered(p.cfg.ID), p.answered},
		{ns.Heartbeats(), p.hear},
		{ns.NodeStatuses(), p.statusQuery},
	} {
		sub, err := p.conn.Subscribe(s.subject, s.handle)
		if err != nil {
			return all, err
		}
		all = append(all, sub)
	}
	p.conn.OnReconnect(p.wish)
	return all, nil
}

// hear listens to the other processors.
func (p *Processor) hear(m bus.Message) {
	if h, err := bus.DecodeHeartbeat(m.Data); err == nil {
		p.leases.hear(h, time.Now())
	}
}

// frame hands the envelopes of a frame to their workers, and waits for those that are busy.
func (p *Processor) frame(m bus.Message) {
	now := time.Now()
	p.frames.Add(1)
	r, err := bus.DecodeEnvelopes(m.Data)
	if err != nil {
		p.badFrames.Add(1)
		p.sometimes.Do(func() { p.log.Error().Err(err).Str("from", m.Reply).Msg("frame can not be read") })
		return
	}
	count := r.Len()
	p.envelopes.Add(uint64(count))
	jobs := make([]job, len(p.workers))
	envelopes := make([]bus.Envelope, count)
	bytes := 0
	for i := range envelopes {
		env := &envelopes[i]
		r.Next(env)
		bytes += len(env.Payload)
		j := &jobs[p.workerOf(env.Key)]
		j.envelopes = append(j.envelopes, env)
	}
	p.meter.begin(count, bytes, now)
	for i, j := range jobs {
		if len(j.envelopes) == 0 {
			continue
		}
		j.reply, j.dispatcher, j.arrived = m.Reply, r.Dispatcher(), now
		select {
		case p.workers[i].queue <- j:
		case <-p.stop:
			p.dropped.Add(uint64(len(j.envelopes)))
			p.meter.inFlight.Add(-int64(len(j.envelopes)))
		}
	}
}

// ask answers a question for an epoch, or of an operator.
func (p *Processor) ask(ctx context.Context, m bus.Message) {
	if bus.IsNodeRequest(m.Data) {
		p.nodeRequest(ctx, m)
		return
	}
	var reply bus.EpochReply
	request, err := bus.DecodeEpochRequest(m.Data)
	if err == nil {
		var e statestore.Epoch
		e, err = p.store.Epoch(ctx, request.Floor)
		reply = bus.EpochReply{Epoch: e.Epoch, RedisTime: e.RedisTime, RolledBack: e.RolledBack}
	}
	if err != nil {
		reply = bus.EpochReply{Error: err.Error()}
	}
	if reply.RolledBack {
		p.rollbacks.Add(1)
		p.distrust()
		p.log.Error().Uint64("floor", request.Floor).Uint64("epoch", reply.Epoch).Msg("the state store forgot epochs that it gave: it lost writes")
	}
	if err := p.conn.Publish(m.Reply, "", reply.Append(nil)); err != nil {
		p.answerFailures.Add(1)
		p.log.Warn().Err(err).Msg("epoch could not be sent")
	}
}
