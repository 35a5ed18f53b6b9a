package access

import (
	"errors"
	"fmt"
	"time"
)

// SecretSize is the length of a namespace's secret in bytes.
const SecretSize = 32

// Config is how long the gateway waits for its stations, and for what. Timers are named as ICAO Annex 10 Volume III names them where it has such a
// one. The values leave room for geostationary round trips of 600 ms. What is due within the same second may come in any order.
type Config struct {
	Secret [SecretSize]byte `yaml:"-"` // of the namespace; proves that a challenge was made here

	Heartbeat     time.Duration `env:"HEARTBEAT"     yaml:"heartbeat"`     // T320, told to stations: how often a quiet one sends HEARTBEAT
	Inactivity    time.Duration `env:"INACTIVITY"    yaml:"inactivity"`    // tG6: silence after which a station is interrogated; at least twice heartbeat
	Confirm       time.Duration `env:"CONFIRM"       yaml:"confirm"`       // tA12: from LOGON-CONFIRM to its repetition
	Interrogation time.Duration `env:"INTERROGATION" yaml:"interrogation"` // tA13: from LOGON-INTERROGATE to its repetition
	Fade          time.Duration `env:"FADE"          yaml:"fade"`          // tG10: from suspect to off: how long calls outlive a fade
	Repeat        time.Duration `env:"REPEAT"        yaml:"repeat"`        // tA50: from a request in a call to its repetition
	Sends         uint8         `env:"SENDS"         yaml:"sends"`         // how often each of these is sent at most

	Challenge  time.Duration `env:"CHALLENGE"   yaml:"challenge"`  // how old a challenge may be when it is answered
	Skew       time.Duration `env:"SKEW"        yaml:"skew"`       // how far the clocks of two processors may be apart
	RetryAfter time.Duration `env:"RETRY_AFTER" yaml:"retryAfter"` // told to stations whose log-on is refused for now: at least this, and less than half as much again
	Memory     time.Duration `env:"MEMORY"      yaml:"memory"`     // how long replies are kept for repeated requests; outlasts a station's repetitions
}

// DefaultConfig is made for geostationary satellites. It has no secret.
func DefaultConfig() Config {
	return Config{
		Heartbeat:     30 * time.Second,
		Inactivity:    100 * time.Second,
		Confirm:       4 * time.Second,
		Interrogation: 4 * time.Second,
		Fade:          5 * time.Minute,
		Repeat:        4 * time.Second,
		Sends:         4,
		Challenge:     time.Minute,
		Skew:          2 * time.Second,
		RetryAfter:    10 * time.Second,
		Memory:        2 * time.Minute,
	}
}

// maxSends bounds Sends: Annex 10 has 4, 5 for distress.
const maxSends = 16

// Validate reports every fault at once, each by its yaml key. It does not look at the secret, which configuration does not hold.
func (c Config) Validate() error {
	var faults []error
	within := func(key string, value, least, most time.Duration) {
		if value < least || value > most {
			faults = append(faults, fmt.Errorf("%s: %v must be from %v to %v", key, value, least, most))
		}
	}
	within("heartbeat", c.Heartbeat, time.Second, time.Hour)
	within("inactivity", c.Inactivity, 2*c.Heartbeat, 24*time.Hour)
	within("confirm", c.Confirm, time.Second, time.Minute)
	within("interrogation", c.Interrogation, time.Second, time.Minute)
	within("fade", c.Fade, time.Duration(c.Sends)*c.Interrogation, 24*time.Hour)
	within("repeat", c.Repeat, time.Second, time.Minute)
	within("challenge", c.Challenge, time.Second, time.Hour)
	within("skew", c.Skew, 0, time.Minute)
	within("retryAfter", c.RetryAfter, time.Second, time.Hour)
	within("memory", c.Memory, time.Duration(c.Sends)*c.Repeat, time.Hour)
	if c.Sends < 1 || c.Sends > maxSends {
		faults = append(faults, fmt.Errorf("sends: %d must be from 1 to %d", c.Sends, maxSends))
	}
	return errors.Join(faults...)
}
