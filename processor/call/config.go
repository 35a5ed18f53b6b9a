package call

import (
	"errors"
	"fmt"
	"time"
)

// Config is how long a call waits, and for what. The names are those of ITU-T Q.931 where it has such a timer; the values leave room for
// geostationary round trips of 600 ms. Requests to stations are repeated by the stations' records, and these timers watch the whole: each should outlast
// those repetitions, so that it ends what they could not save.
type Config struct {
	T321 time.Duration `env:"T321" yaml:"t321"` // told to stations: how long a modem may take to lock
	Lock time.Duration `env:"LOCK" yaml:"lock"` // from CHANNEL-ASSIGN until both stations have locked; more than t321
	T303 time.Duration `env:"T303" yaml:"t303"` // from CALL-SETUP until the called station's record and both pools have answered; Q.931: 4 s, twice
	T310 time.Duration `env:"T310" yaml:"t310"` // from the second lock until CALL-ALERT or CALL-CONNECT of the called station; Q.931: 10 s
	T301 time.Duration `env:"T301" yaml:"t301"` // from CALL-ALERT until CALL-CONNECT: how long it rings; Q.931: at least 3 min
	T313 time.Duration `env:"T313" yaml:"t313"` // from CALL-CONNECT to the calling station until its CALL-CONNECT-ACK; Q.931: 4 s
	T305 time.Duration `env:"T305" yaml:"t305"` // from DISCONNECT to a station until its RELEASE; Q.931: 30 s
	T308 time.Duration `env:"T308" yaml:"t308"` // from RELEASE to a station until its RELEASE-COMPLETE, twice; Q.931: 4 s, twice
}

// DefaultConfig is made for geostationary satellites.
func DefaultConfig() Config {
	return Config{
		T321: 10 * time.Second,
		Lock: 20 * time.Second,
		T303: 20 * time.Second,
		T310: 20 * time.Second,
		T301: 3 * time.Minute,
		T313: 20 * time.Second,
		T305: 30 * time.Second,
		T308: 20 * time.Second,
	}
}

// Bounds of each timer.
const (
	shortest = time.Millisecond
	longest  = time.Hour
)

// Validate reports every fault at once, each by its yaml key.
func (c Config) Validate() error {
	var faults []error
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"t321", c.T321},
		{"t303", c.T303},
		{"t310", c.T310},
		{"t301", c.T301},
		{"t313", c.T313},
		{"t305", c.T305},
		{"t308", c.T308},
	} {
		if d.value < shortest || d.value > longest {
			faults = append(faults, fmt.Errorf("%s: %v must be from %v to %v", d.key, d.value, shortest, longest))
		}
	}
	if c.Lock <= c.T321 || c.Lock > longest {
		faults = append(faults, fmt.Errorf("lock: %v must be more than t321 (%v) and at most %v", c.Lock, c.T321, longest))
	}
	return errors.Join(faults...)
}
