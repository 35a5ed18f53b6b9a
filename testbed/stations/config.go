package stations

import (
	"errors"
	"fmt"
	"time"

	"skyring/protocol"
)

// Config says what is played.
type Config struct {
	// Count is how many stations there are, 2 to MaxStations.
	Count int
	// Calls is how many calls are kept up or coming up at a time, at most one for each two stations.
	Calls int
	// Duration is how long calls are set up. Those that are up then end as planned.
	Duration time.Duration
	// KillProcessor kills a processor after a third of Duration, or later when a call is up, AddProcessor
	// adds one after half of it. The Site must be able to.
	KillProcessor bool
	AddProcessor  bool
	// Seed is of all that is random: who calls whom, how long phones ring and calls last.
	Seed uint64
	// LogOns is how many stations are switched on a second, and how many may be on their way to a log-on
	// at a time; at least 1.
	LogOns int
	// Hold is the mean of the exponential hold time, Ring that of the time until the called user
	// answers. Both are shortened, so that a run sees many calls; none is longer than four means.
	Hold time.Duration
	Ring time.Duration
	// Sockets is how many UDP sockets the stations share.
	Sockets int
	// Port is the SCTP port of the dispatchers.
	Port uint16
	// Beams is how many beams the stations are spread over, 1 to 1000.
	Beams int
	// Settle is how long log-ons, and after the last call pools and call records, may take to come
	// to what they must be.
	Settle time.Duration
}

// MaxStations is how many stations one run can play.
const MaxStations = 50_000

// longest is how many means a random time has at most.
const longest = 4

// Ids of stations and beams that are played lie where no operator's are, so that a run against
// an installation in use touches nothing of it. FirstStation and LastStation are those of the stations.
const (
	FirstStation protocol.StationID = 0xFF53494D00000001 // "SIM"
	LastStation                     = FirstStation + MaxStations - 1
	firstBeam    protocol.Beam      = 64000
)

// DefaultConfig is 100 stations and 10 calls for 10 s.
func DefaultConfig() Config {
	return Config{
		Count: 100, Calls: 10, Duration: 10 * time.Second, Seed: 1, LogOns: 500, Hold: 4 * time.Second, Ring: 300 * time.Millisecond,
		Sockets: 4, Port: 9899, Beams: 8, Settle: 45 * time.Second,
	}
}

// Validate names all faults at once.
func (c Config) Validate() error {
	var faults []error

	within := func(name string, value, low, high int) {
		if value < low || value > high {
			faults = append(faults, fmt.Errorf("%s: %d: %d to %d is right", name, value, low, high))
		}
	}
	positive := func(name string, d time.Duration) {
		if d <= 0 {
			faults = append(faults, fmt.Errorf("%s: %s: more than 0s is right", name, d))
		}
	}

	within("count", c.Count, 2, MaxStations)
	within("calls", c.Calls, 1, max(c.Count/2, 1))
	within("log-ons a second", c.LogOns, 1, 100_000)
	within("sockets", c.Sockets, 1, 64)
	within("port", int(c.Port), 1, 65535)
	within("beams", c.Beams, 1, 1000)
	positive("duration", c.Duration)
	positive("hold", c.Hold)
	positive("ring", c.Ring)
	positive("settle", c.Settle)

	return errors.Join(faults...)
}
