package simulate

import (
	"errors"
	"fmt"
	"math"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

// Most that a run may have. A station takes 2 bytes, a message in flight some 60.
const (
	MaxStations    = 100_000_000
	MaxDispatchers = 1_000
	MaxWorkers     = 10_000
)

const (
	// maxWindow bounds Config.Window.
	maxWindow = 1 << 16
	// maxLanes bounds the workers of a node with QueuePerWorker.
	maxLanes = 256
)

// Config is one run.
type Config struct {
	Policy  string
	Options policy.Options // its Seed is replaced by one that follows from Config.Seed
	Seed    uint64

	Nodes       []Node
	Dispatchers int // 1..MaxDispatchers; a station belongs to one of them
	Service     Service
	Stations    Stations
	Arrivals    Arrivals
	Limits      Limits
	Heartbeat   Heartbeat
	Failure     Failure
	Events      []Event // in any order

	// Window is how many messages of a station may be in flight at once, all of them at one node, as a dispatcher keeps them: further ones wait for these, and go to the
	// same node as long as it takes any. What finds no node waits too, first come, first served, and is not refused. 0: every message is a pick of its own, as in
	// the papers.
	Window int
	Queues Queues

	PickCost float64       // nanoseconds that a dispatcher is busy with one message: see MeasurePick; 0: none
	Hop      time.Duration // from dispatcher to node, and back again

	Duration time.Duration // simulated, with Warmup
	Warmup   time.Duration // messages that come before it do not count in Result's figures

	// MovedSample is of how many stations Result.MovedStations is; 0: 100,000, which give a share of 1/16 within some 1 %.
	MovedSample int
}

// Node is a processor.
type Node struct {
	Capacity uint32  // its weight in the policies; at least 1
	Workers  int     // messages it works on at once: 1..MaxWorkers
	Speed    float64 // work done in a second by one worker, in service times of the reference: 1 is the reference; over 0
	Absent   bool    // not there at first: an Event adds it
}

// Queues says how the workers of a node share its messages.
type Queues uint8

const (
	// SharedQueue has any free worker take the oldest message.
	SharedQueue Queues = iota
	// QueuePerWorker has each worker take the messages of its own stations, as a processor's do to keep these in order.
	QueuePerWorker
)

// Stations are who sends. Station of rank r sends in proportion to r^-Exponent.
type Stations struct {
	Count        int     // 1..MaxStations
	Exponent     float64 // 0 is uniform; may be under, at or over 1
	Spacing      uint64  // between two ids, which are 1 to Count times this: hashes of digits want long ones; 0: 1
	Associations int     // that stations come by; 0: one in 100 stations, at least 1
}

// Arrivals is how messages come: the sum of all parts that are not zero.
type Arrivals struct {
	Rate float64 // messages per second of a Poisson process

	// Burst messages, on average, from BurstAt for BurstFor, as Beta(3,4) has them (3GPP TR 37.868, model 2).
	Burst             float64
	BurstAt, BurstFor time.Duration

	// Users who each send, wait for the answer, think for an exponential time of mean Think, and send again. User u is station u, so there may not be more of them.
	Users int
	Think time.Duration
}

// Limits are what a node may have in flight, over all dispatchers, and the thresholds of what it reports. Zero: none.
type Limits struct {
	PerWorker    float64 // messages in flight per worker and unit of Speed from which a node is at its limit
	CapPerWorker float64 // and from which it takes none at all

	// ResponseTarget is the time to an answer at which a node's weight is 0, and by which PerWorker becomes less where answers take longer, and
	// CapPerWorker with it, as in a dispatcher (ring/gauge.Limit).
	ResponseTarget time.Duration

	CPU, Memory float64       // parts of 1 from which a report puts a node at its limit
	Hold        time.Duration // least time between two changes by CPU and Memory; 0: 30 s
}

// Heartbeat is how nodes report.
type Heartbeat struct {
	Every  time.Duration // 0: 1 s
	Jitter float64       // part of Every by which each may be early or late, evenly: 0..1
	Delay  time.Duration // until a dispatcher has it
}

// Failure is how dispatchers find out that a node does not answer.
type Failure struct {
	Detection time.Duration // from the loss of a node until dispatchers leave it out; 0: four heartbeats
	Deadline  time.Duration // after which a message is picked again, doubling at each attempt; 0: none
	Attempts  int           // picks of a message at most; 0: 3
}

// Change is what an Event does.
type Change uint8

const (
	// Added has a node come, or come back. It has nothing in hand.
	Added Change = iota
	// Lost has a node die with all it has in hand.
	Lost
	// Slowed multiplies a node's service times by Factor from here on.
	Slowed
)

// Event is something that happens to a node.
type Event struct {
	At     time.Duration
	Node   int // index in Config.Nodes
	Change Change
	Factor float64 // of Slowed: over 0; 1 is as it was
}

// Capacity is how many messages per second the nodes that are there at first can do.
func (c Config) Capacity() float64 {
	var sum float64

	for _, n := range c.Nodes {
		if !n.Absent {
			sum += float64(n.Workers) * n.Speed
		}
	}

	return sum / c.Service.Mean.Seconds()
}

// Validate reports every fault, each with its key.
func (c Config) Validate() error {
	faults := []error{
		policy.Known(c.Policy),
		c.validateNodes(),
		c.Service.validate(),
		c.Arrivals.validate(c.Stations.Count),
		c.Limits.validate(),
		c.validateEvents(),
	}
	check := func(right bool, format string, args ...any) {
		if !right {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}

	s, h, f := c.Stations, c.Heartbeat, c.Failure
	check(c.Dispatchers >= 1 && c.Dispatchers <= MaxDispatchers, "dispatchers: %d is out of 1..%d", c.Dispatchers, MaxDispatchers)
	check(s.Count >= 1 && s.Count <= MaxStations, "stations.count: %d is out of 1..%d", s.Count, MaxStations)
	check(s.Exponent >= 0 && s.Exponent <= 10, "stations.exponent: %v is out of 0..10", s.Exponent)
	check(s.Spacing <= math.MaxUint64/MaxStations, "stations.spacing: %d is over %d", s.Spacing, uint64(math.MaxUint64/MaxStations))
	check(s.Associations >= 0, "stations.associations: %d: want 1 or more, or 0 for one in 100 stations", s.Associations)
	check(h.Every >= 0 && h.Delay >= 0, "heartbeat: %v, %v: want no negative time", h.Every, h.Delay)
	check(h.Jitter >= 0 && h.Jitter < 1, "heartbeat.jitter: %v is out of 0 to under 1", h.Jitter)
	check(f.Detection >= 0 && f.Deadline >= 0, "failure: %v, %v: want no negative time", f.Detection, f.Deadline)
	check(f.Attempts >= 0 && f.Attempts <= maxAttempts, "failure.attempts: %d is out of 0..%d", f.Attempts, maxAttempts)
	check(c.Window >= 0 && c.Window <= maxWindow, "window: %d is out of 0..%d", c.Window, maxWindow)
	check(c.Queues <= QueuePerWorker, "queues: %d is out of 0..%d", c.Queues, QueuePerWorker)
	check(c.PickCost >= 0 && c.PickCost < 1e9, "pickCost: %v ns: want 0 to under one second", c.PickCost)
	check(c.MovedSample >= 0, "movedSample: %d: want 1 or more, or 0 for 100,000", c.MovedSample)
	check(c.Hop >= 0, "hop: %v: want no negative time", c.Hop)
	check(c.Duration > 0, "duration: %v: want more than 0", c.Duration)
	check(c.Warmup >= 0 && c.Warmup < c.Duration, "warmup: %v: want 0 to under the duration of %v", c.Warmup, c.Duration)

	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("simulation: %w", err)
	}

	return nil
}

func (c Config) validateNodes() error {
	var faults []error

	if len(c.Nodes) == 0 || len(c.Nodes) > ring.MaxNodes {
		faults = append(faults, fmt.Errorf("nodes: %d is out of 1..%d", len(c.Nodes), ring.MaxNodes))
	}

	there := false

	for i, n := range c.Nodes {
		there = there || !n.Absent

		if n.Capacity == 0 || n.Workers < 1 || n.Workers > MaxWorkers || !positive(n.Speed) {
			faults = append(faults, fmt.Errorf("nodes[%d]: capacity %d, workers %d, speed %v: want at least 1, 1..%d, over 0",
				i, n.Capacity, n.Workers, n.Speed, MaxWorkers))
		}

		if c.Queues == QueuePerWorker && n.Workers > maxLanes {
			faults = append(faults, fmt.Errorf("nodes[%d]: %d workers with a queue each: want %d at most", i, n.Workers, maxLanes))
		}
	}

	if !there {
		faults = append(faults, errors.New("nodes: all are absent: at least one has to be there at first"))
	}

	return errors.Join(faults...)
}

func (c Config) validateEvents() error {
	var faults []error

	for i, e := range c.Events {
		switch {
		case e.Node < 0 || e.Node >= len(c.Nodes):
			faults = append(faults, fmt.Errorf("events[%d].node: %d is out of 0..%d", i, e.Node, len(c.Nodes)-1))
		case e.At < 0:
			faults = append(faults, fmt.Errorf("events[%d].at: %v: want no negative time", i, e.At))
		case e.Change > Slowed:
			faults = append(faults, fmt.Errorf("events[%d].change: %d is out of 0..%d", i, e.Change, Slowed))
		case e.Change == Slowed && !positive(e.Factor):
			faults = append(faults, fmt.Errorf("events[%d].factor: %v: want more than 0", i, e.Factor))
		}
	}

	return errors.Join(faults...)
}

func (a Arrivals) validate(stations int) error {
	switch {
	case !(a.Rate >= 0) || !(a.Burst >= 0) || a.Users < 0 || math.IsInf(a.Rate+a.Burst, 0):
		return fmt.Errorf("arrivals: rate %v, burst %v, users %d: want finite numbers, none negative", a.Rate, a.Burst, a.Users)
	case a.Rate == 0 && a.Burst == 0 && a.Users == 0:
		return errors.New("arrivals: nothing comes: want a rate, a burst or users")
	case a.Burst > 0 && (a.BurstFor <= 0 || a.BurstAt < 0):
		return fmt.Errorf("arrivals: burst at %v for %v: want no negative time, and a length over 0", a.BurstAt, a.BurstFor)
	case a.Users > stations:
		return fmt.Errorf("arrivals.users: %d: each is a station of its own, want at most the %d stations", a.Users, stations)
	case a.Users > 0 && a.Think <= 0:
		return fmt.Errorf("arrivals.think: %v: want more than 0", a.Think)
	default:
		return nil
	}
}

func (l Limits) validate() error {
	for _, v := range []float64{l.PerWorker, l.CapPerWorker, l.CPU, l.Memory} {
		if !(v >= 0) || v > 1e6 {
			return fmt.Errorf("limits: %+v: want 0 (none) to 10^6", l)
		}
	}

	if l.Hold < 0 || l.ResponseTarget < 0 {
		return fmt.Errorf("limits: hold %v, responseTarget %v: want no negative time", l.Hold, l.ResponseTarget)
	}

	if l.ResponseTarget > 0 && l.PerWorker == 0 {
		return fmt.Errorf("limits.responseTarget: %v adapts limits in flight, and there are none: want limits.perWorker", l.ResponseTarget)
	}

	return nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// withDefaults fills in what zero stands for.
func (c Config) withDefaults() Config {
	if c.Stations.Associations == 0 {
		c.Stations.Associations = max(1, c.Stations.Count/100)
	}

	if c.Stations.Spacing == 0 {
		c.Stations.Spacing = 1
	}

	if c.Heartbeat.Every == 0 {
		c.Heartbeat.Every = time.Second
	}

	if c.Failure.Detection == 0 {
		c.Failure.Detection = 4 * c.Heartbeat.Every
	}

	if c.Failure.Attempts == 0 {
		c.Failure.Attempts = 3
	}

	if c.MovedSample == 0 {
		c.MovedSample = 100_000
	}

	if c.Limits.Hold == 0 {
		c.Limits.Hold = 30 * time.Second
	}

	return c
}
