package processor

import (
	"errors"
	"fmt"
	"time"

	"skyring/protocol/bus"
)

// Config is what a processor is told about itself.
type Config struct {
	ID        string        `env:"ID"        yaml:"id"`       // of the node, unique in the namespace, see bus.ValidateID
	Namespace bus.Namespace `yaml:"-"`                        // shared with the dispatchers; set by the owner of the configuration
	Capacity  uint32        `env:"CAPACITY"  yaml:"capacity"` // messages per second sustained at the response target: its share of the ring

	InFlightLimit    uint32        `env:"IN_FLIGHT_LIMIT"   yaml:"inFlightLimit"`    // messages in flight of each dispatcher from which the node is at its limit; 0: as the dispatcher has it
	CapacityStep     float64       `env:"CAPACITY_STEP"     yaml:"capacityStep"`     // part of the announced capacity that one step of a change is at most, 0.001 to 1
	CapacityInterval time.Duration `env:"CAPACITY_INTERVAL" yaml:"capacityInterval"` // between two steps, at least

	Workers      int `env:"WORKERS"       yaml:"workers"`      // batches worked on at a time; each waits for the store on its own
	Batch        int `env:"BATCH"         yaml:"batch"`        // messages of one batch, about
	Queue        int `env:"QUEUE"         yaml:"queue"`        // frames that may wait for a worker; full: the subscription waits
	EventQueue   int `env:"EVENT_QUEUE"   yaml:"eventQueue"`   // notifications, timers and acknowledgements that may wait for a worker; full: they are found again later
	HintSessions int `env:"HINT_SESSIONS" yaml:"hintSessions"` // sessions whose last record is remembered, over all workers

	SessionTTL    time.Duration `env:"SESSION_TTL"    yaml:"sessionTTL"`    // a session without messages is forgotten after it
	LongestExpiry time.Duration `env:"LONGEST_EXPIRY" yaml:"longestExpiry"` // messages that could still be committed later than this are refused; more than any dispatcher's expiry plus skew of clocks
	Strikes       int           `env:"STRIKES"        yaml:"strikes"`       // failures of the handler after which a message is set aside

	LeaseTTL   time.Duration `env:"LEASE_TTL" yaml:"leaseTTL"`     // partitions of a processor that died are taken over after it, at the latest
	TimerTick  time.Duration `env:"TIMER_TICK" yaml:"timerTick"`   // between two looks for timers that are due: as late may one fire
	SweepAge   time.Duration `env:"SWEEP_AGE" yaml:"sweepAge"`     // outboxes that nobody emptied after it are looked after, and timers that did not fire, again and again
	SweepLimit int           `env:"SWEEP_LIMIT" yaml:"sweepLimit"` // timers, and outboxes, taken at one look

	CDRKeep time.Duration `env:"CDR_KEEP" yaml:"cdrKeep"` // call data records are forgotten after it; 0: never

	Heartbeat    time.Duration `env:"HEARTBEAT"     yaml:"heartbeat"`    // interval, give or take a fifth at random
	DrainQuiet   time.Duration `env:"DRAIN_QUIET"   yaml:"drainQuiet"`   // drained is who had nothing to do for so long
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT" yaml:"drainTimeout"` // the longest time to drain
}

// shortestStep of a change of capacity comes to its end: ten times the capacity takes some 2,300 of them.
const shortestStep = 0.001

// shortestKeep leaves time to export call data records.
const shortestKeep = time.Minute

// DefaultConfig lacks the id alone.
func DefaultConfig() Config {
	return Config{
		Namespace:        "default",
		Capacity:         1000,
		CapacityStep:     0.1,
		CapacityInterval: 10 * time.Minute,
		Workers:          4,
		Batch:            256,
		Queue:            256,
		EventQueue:       4096,
		LeaseTTL:         3 * time.Second,
		TimerTick:        250 * time.Millisecond,
		SweepAge:         time.Second,
		SweepLimit:       512,
		HintSessions:     1 << 16,
		SessionTTL:       24 * time.Hour,
		LongestExpiry:    time.Minute,
		Strikes:          3,
		Heartbeat:        time.Second,
		DrainQuiet:       300 * time.Millisecond,
		DrainTimeout:     10 * time.Second,
	}
}

// Validate reports every fault at once, each by its yaml key.
func (c Config) Validate() error {
	var faults []error
	if err := bus.ValidateID(c.ID); err != nil {
		faults = append(faults, fmt.Errorf("id: %w", err))
	}
	if err := c.Namespace.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("namespace: %w", err))
	}
	for _, n := range []struct {
		key          string
		value, least int
	}{
		{"capacity", int(c.Capacity), 1},
		{"workers", c.Workers, 1},
		{"batch", c.Batch, 1},
		{"queue", c.Queue, 1},
		{"eventQueue", c.EventQueue, 1},
		{"sweepLimit", c.SweepLimit, 1},
		{"hintSessions", c.HintSessions, c.Workers},
		{"strikes", c.Strikes, 1},
	} {
		if n.value < n.least {
			faults = append(faults, fmt.Errorf("%s: %d must be at least %d", n.key, n.value, n.least))
		}
	}
	for _, d := range []struct {
		key          string
		value, least time.Duration
	}{
		{"longestExpiry", c.LongestExpiry, time.Second},
		{"sessionTTL", c.SessionTTL, 2 * c.LongestExpiry},
		{"leaseTTL", c.LeaseTTL, 10 * time.Millisecond},
		{"timerTick", c.TimerTick, time.Millisecond},
		{"sweepAge", c.SweepAge, time.Millisecond},
		{"heartbeat", c.Heartbeat, time.Millisecond},
		{"capacityInterval", c.CapacityInterval, time.Millisecond},
		{"drainQuiet", c.DrainQuiet, time.Millisecond},
		{"drainTimeout", c.DrainTimeout, c.DrainQuiet},
	} {
		if d.value < d.least {
			faults = append(faults, fmt.Errorf("%s: %v must be at least %v", d.key, d.value, d.least))
		}
	}
	if !(c.CapacityStep >= shortestStep && c.CapacityStep <= 1) {
		faults = append(faults, fmt.Errorf("capacityStep: %v must be %v to 1, a part of the capacity", c.CapacityStep, shortestStep))
	}
	if c.CDRKeep != 0 && c.CDRKeep < shortestKeep {
		faults = append(faults, fmt.Errorf("cdrKeep: %v must be at least %v, or 0 to keep all", c.CDRKeep, shortestKeep))
	}
	return errors.Join(faults...)
}
