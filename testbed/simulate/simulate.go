package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

const (
	// maxAttempts bounds Failure.Attempts.
	maxAttempts = 8
	// checkEvery is after how many events a run looks whether it is to end early.
	checkEvery = 1 << 16
)

// message is one that is in the system.
type message struct {
	arrived    int64 // ns
	sent       int64 // ns of its last pick
	work       int64 // ns at speed 1
	station    uint64
	rank       int32 // of its station
	node       int32 // that has it, nobody before a pick
	avoid      int32 // that did not answer, nobody for none
	user       int32 // who waits for it, nobody for none
	dispatcher int32
	serial     uint32 // changes when an attempt or the message ends
	attempt    uint8  // deadlines that went by
	position   uint32 // among its station's messages, with a window
	picked     bool
	overlaps   bool // came while its station had another one in the system; told with a window alone
	counts     bool // came after the warm-up
	inUse      bool
}

const nobody = -1

// overdueAt is a deadline.
type overdueAt struct {
	at      int64
	message int32
	serial  uint32
}

// simulation is a run under way.
type simulation struct {
	// Static after start.
	cfg      Config
	service  sampler
	stations crowd
	end      int64

	generators

	now         int64
	future      future
	messages    []message
	unused      []int32 // places in messages
	nodes       []node
	member      []bool   // whether dispatchers know a node
	known       []uint16 // life of each member
	since       []int64  // since when it is one
	dispatchers []dispatcher
	sessions    sessions
	deadlines   [maxAttempts]fifo[overdueAt] // per attempt: those of one are in the order they were set
	post        []posted                     // heartbeats under way
	unposted    []int32                      // places in post
	tally       *tally
}

// posted is a heartbeat on its way.
type posted struct {
	report policy.Report
	node   int32
	life   uint16
}

// Run simulates. It ends early, with ctx's error, when ctx does. Errors of a faulty Config name every fault.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, err
	}

	s, err := start(c.withDefaults())
	if err != nil {
		return Result{}, err
	}

	for n := 1; len(s.future.heap) > 0 && s.future.heap[0].at <= s.end; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return Result{}, fmt.Errorf("simulation at %v of %v: %w", time.Duration(s.now), c.Duration, ctx.Err())
		}

		e := s.future.pop()
		s.now = e.at

		if err := s.handle(&e); err != nil {
			return Result{}, fmt.Errorf("simulation at %v: %w", time.Duration(s.now), err)
		}
	}

	s.now = s.end

	for i := range s.nodes {
		s.closeMembership(i)
	}

	r := s.tally.finish(s.cfg, s.end)

	r.MovedStations, r.MovedIdeal, err = moved(s.cfg)
	if err != nil {
		return Result{}, err
	}

	return r, nil
}

func start(c Config) (*simulation, error) {
	g := newGenerators(c)
	s := &simulation{
		cfg:         c,
		service:     newSampler(c.Service),
		stations:    newCrowd(c.Stations, g.crowd),
		end:         int64(c.Duration),
		generators:  g,
		nodes:       make([]node, len(c.Nodes)),
		member:      make([]bool, len(c.Nodes)),
		known:       make([]uint16, len(c.Nodes)),
		since:       make([]int64, len(c.Nodes)),
		dispatchers: make([]dispatcher, c.Dispatchers),
		sessions:    sessions{byRank: make(map[int32]*session)},
		tally:       newTally(c),
	}

	for i, n := range c.Nodes {
		s.nodes[i] = node{Node: n, factor: 1, present: !n.Absent, lanes: newLanes(n.Workers, c.Queues)}
		s.member[i] = !n.Absent

		if !n.Absent {
			s.schedule(reports, int32(i), int64(s.beats.Float64()*float64(c.Heartbeat.Every)))
		}
	}

	for i := range s.dispatchers {
		if err := s.startDispatcher(i); err != nil {
			return nil, err
		}
	}

	for i, e := range c.Events {
		s.schedule(changes, int32(i), int64(e.At))
	}

	s.schedule(ticks, 0, 0)
	s.startArrivals()

	return s, nil
}

func (s *simulation) startDispatcher(i int) error {
	d := &s.dispatchers[i]
	*d = dispatcher{
		name:    s.cfg.Policy,
		options: s.cfg.Options,
		limits:  s.cfg.Limits,
		index:   make([]int, len(s.nodes)),
		views:   make([]view, len(s.nodes)),
	}
	d.options.Seed = ring.Scramble(s.cfg.Seed) + uint64(i)

	for n := range s.nodes {
		v := &d.views[n]
		v.load.Limit = s.nodes[n].limit(s.cfg.Limits.PerWorker, len(s.dispatchers))
		v.load.HardCap = s.nodes[n].limit(s.cfg.Limits.CapPerWorker, len(s.dispatchers))
		v.ceiling, v.hardCap = v.load.Limit, v.load.HardCap
		v.limit.SetCeiling(int(v.ceiling))
	}

	return d.rebuild(s.nodes, s.member)
}

// schedule makes an event that nothing can outdate.
func (s *simulation) schedule(k kind, subject int32, at int64) {
	s.future.push(event{at: at, subject: subject, kind: k})
}

// handle lets an event happen.
func (s *simulation) handle(e *event) error {
	switch e.kind {
	case arrives, bursts, thinks:
		s.arrive(e)
	case picks:
		if s.current(e) {
			s.pick(e.message)
		}
	case reaches:
		s.reach(e.message, e.serial, e.subject)
	case done:
		s.done(e)
	case answers:
		if s.current(e) {
			s.answer(e.message)
		} else {
			s.tally.result.Late++
		}
	case overdue:
		s.overdue(int(e.subject))
	case reports:
		s.beat(e)
	case hears:
		return s.hear(e.subject)
	case ticks:
		for i := range s.dispatchers {
			s.dispatchers[i].policy.Tick(time.Duration(s.now))
			s.dispatchers[i].adapt(s.now)
			s.unpark(&s.dispatchers[i])
		}

		s.schedule(ticks, 0, s.now+int64(time.Second))
	case changes:
		return s.change(s.cfg.Events[e.subject])
	case detects:
		if n := e.subject; s.member[n] && s.known[n] == e.life {
			return s.leave(n)
		}
	}

	return nil
}

// current says that an event is of the attempt that its message is at.
func (s *simulation) current(e *event) bool { return s.messages[e.message].serial == e.serial }

// exponential draws a time in ns of a Poisson process.
func exponential(r *rand.Rand, perSecond float64) int64 {
	return int64(min(r.ExpFloat64()/perSecond*1e9, math.MaxInt64/4))
}
