package dispatcher

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

const (
	tickInterval  = 5 * time.Millisecond   // of the core's timers
	helloInterval = 250 * time.Millisecond // between hellos while messages wait and no node is known
)

func (d *Dispatcher) onHeartbeat(m bus.Message) {
	h, err := bus.DecodeHeartbeat(m.Data)
	if err != nil {
		d.count.drop(DropHeartbeat, 1)
		d.log.Warn().Err(err).Msg("heartbeat refused")

		return
	}

	d.with(func(core *routing.Core, now time.Duration) { core.Heartbeat(now, h) })
	token(d.changed)
}

func (d *Dispatcher) onDisconnect(error) {
	d.with(func(core *routing.Core, now time.Duration) { core.Disconnected(now) })
}

func (d *Dispatcher) onReconnect() {
	d.with(func(core *routing.Core, now time.Duration) { core.Reconnected(now) })
	d.hello()
}

// hello asks all nodes for a heartbeat.
func (d *Dispatcher) hello() {
	h := bus.Hello{ID: d.cfg.ID, Incarnation: d.incarnation}
	if err := d.conn.Publish(d.cfg.Namespace.Hello(), "", h.Append(nil)); err != nil {
		d.log.Debug().Err(err).Msg("hello not published")
	}
}

// keepMembers drives the core's timers, makes policies for new sets of nodes, starts the writers of new
// nodes' outboxes and logs what befalls nodes, until ctx ends.
func (d *Dispatcher) keepMembers(ctx context.Context) {
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()

	var (
		writers sync.WaitGroup
		helloAt time.Time
	)
	defer writers.Wait()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.changed:
		}

		l := d.look()
		for n, k := range l.fresh {
			writers.Go(func() { d.writeOutbox(ctx, n, k) })
		}

		for _, e := range l.events {
			d.logEvent(e)
		}

		if l.rebuild {
			d.rebuild(l.members)
		}

		if l.starved && time.Since(helloAt) > helloInterval {
			helloAt = time.Now()

			d.hello()
		}
	}
}

// looked is what one look at the core found to be done.
type looked struct {
	fresh   map[routing.Node]kick
	events  []routing.Event
	members []ring.Node
	rebuild bool
	starved bool
}

func (d *Dispatcher) look() looked {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.core.Tick(d.now())
	d.tell()
	d.wake()
	d.rate.look(d.now(), d.core.Submitted())

	for _, n := range d.core.Forgotten() {
		if k := d.kicks[n]; k != nil {
			delete(d.kicks, n)
			close(k) // the writer ends
		}
	}

	l := looked{events: d.core.Events(), starved: d.core.Starved()}
	l.members, l.rebuild = d.core.PolicyWanted()

	for _, n := range d.core.Nodes(len(d.kicks)) {
		if l.fresh == nil {
			l.fresh = make(map[routing.Node]kick)
		}

		l.fresh[n] = d.startWriter(n)
	}

	return l
}

// rebuild makes the policy of the present members while picks go on by the old one.
func (d *Dispatcher) rebuild(members []ring.Node) {
	name := d.cfg.Policy

	p, err := d.policy(name, members)
	if err == nil {
		d.unfit.Store(nil)
	} else {
		name, p = d.standIn(members, err)
	}

	if p == nil {
		return
	}

	d.with(func(core *routing.Core, now time.Duration) { core.SetPolicy(now, p) })

	l := d.log.Info().Str("policy", name).Int("nodes", p.Len())
	if table, ok := p.(interface{ Checksum() uint64 }); ok {
		l = l.Stringer("checksum", bus.Hex(table.Checksum()))
	}

	l.Msg("new ring")
}

func (d *Dispatcher) policy(name string, members []ring.Node) (policy.Policy, error) { //nolint:ireturn // which one it is depends on the configuration
	return policy.New(name, members, policy.Options{Ring: d.cfg.ring(), Seed: d.incarnation})
}

// standIn is the default policy, where the configured one cannot pick from the nodes that there are: some cannot from capacities that are very far apart. Messages
// go on, and an alarm says so. Where that one cannot either, nil: the old policy stays.
func (d *Dispatcher) standIn(members []ring.Node, why error) (string, policy.Policy) { //nolint:ireturn // as policy
	text := why.Error()
	d.unfit.Store(&text)

	p, err := d.policy(policy.Default, members)
	if err != nil {
		d.log.Error().Err(why).Msg("nodes cannot be picked from as they are now, the old policy stays")

		return "", nil
	}

	d.log.Error().Err(why).Str("policy", policy.Default).Msg("the configured policy cannot pick from these nodes, another one does")

	return policy.Default, p
}

func (d *Dispatcher) logEvent(e routing.Event) {
	l := d.log.WithLevel(eventLevel(e)).Str("node", e.Node).Stringer("event", e.Kind)
	if e.State != "" {
		l = l.Str("state", e.State)
	}

	if e.Kind == routing.NodeDead {
		l = l.Stringer("cause", e.Cause)
	}

	if e.Moved > 0 {
		l = l.Int("moved", e.Moved)
	}

	l.Msg(eventMessage(e.Kind))
}

func eventLevel(e routing.Event) zerolog.Level {
	switch e.Kind {
	case routing.NodeTwin, routing.NodeRefused:
		return zerolog.ErrorLevel
	case routing.NodeDead:
		if e.State == bus.Leaving.String() {
			return zerolog.InfoLevel
		}

		return zerolog.WarnLevel
	case routing.NodeSuspect, routing.NodeStalled:
		return zerolog.WarnLevel
	case routing.NodeUp, routing.NodeAnnounced, routing.NodeBack, routing.NodeForgotten:
		return zerolog.InfoLevel
	default:
		return zerolog.InfoLevel
	}
}

func eventMessage(k routing.EventKind) string {
	switch k {
	case routing.NodeUp:
		return "node is up"
	case routing.NodeAnnounced:
		return "node changes its state"
	case routing.NodeSuspect:
		return "node misses heartbeats"
	case routing.NodeStalled:
		return "node answers nothing, its messages move"
	case routing.NodeBack:
		return "node is back"
	case routing.NodeDead:
		return "node is dead, its messages move"
	case routing.NodeTwin:
		return "two live processes have this node id: give one of them another"
	case routing.NodeRefused:
		return "more nodes than maxNodes: further ones are not used"
	case routing.NodeForgotten:
		return "node is gone for long, and forgotten"
	default:
		return k.String()
	}
}
