package generate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"skyring/testbed/trace"
)

// Config says what is generated. The same settings give the same bytes, on every machine.
type Config struct {
	Seed         uint64        `yaml:"seed" env:"SEED"`                 // of all that is random
	Associations int           `yaml:"associations" env:"ASSOCIATIONS"` // 1 to 10,000; their protocols take turns, see Protocols
	Messages     int           `yaml:"messages" env:"MESSAGES"`         // user messages over all associations, reached within a session each
	Duration     time.Duration `yaml:"duration" env:"DURATION"`         // in which sessions begin; those begun run to their end
	Ring         time.Duration `yaml:"ring" env:"RING"`                 // mean time from a call's alerting to its answer
	Hold         time.Duration `yaml:"hold" env:"HOLD"`                 // mean time that a call or session lasts
	Repeats      float64       `yaml:"repeats" env:"REPEATS"`           // share of DATA packets that come twice, 0 to 1
	Start        time.Time     `yaml:"start" env:"START"`               // of the first packet
	Format       Format        `yaml:"format" env:"FORMAT"`
}

// Format is the format of the capture.
type Format string

// The formats.
const (
	PCAPNG Format = "pcapng" // nanoseconds
	PCAP   Format = "pcap"   // microseconds
)

// DefaultConfig is 12 associations with about 2,000 messages. Sessions begin within 10 s; ring and hold times are a sixtieth
// of the means of 5 s and 120 s in ETSI TS 186 008, so that a capture of some seconds holds whole calls.
func DefaultConfig() Config {
	return Config{
		Seed: 1, Associations: 12, Messages: 2000, Duration: 10 * time.Second,
		Ring: 5 * time.Second / 60, Hold: 120 * time.Second / 60, Repeats: 0.02,
		Start: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), Format: PCAPNG,
	}
}

// Validate names every setting that cannot be, and what would be right.
func (c Config) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(c.Associations >= 1 && c.Associations <= 10_000, "associations is %d: it is 1 to 10000", c.Associations)
	check(c.Messages >= 0 && c.Messages <= 10_000_000, "messages is %d: it is 0 to 10000000", c.Messages)
	check(c.Duration > 0, "duration is %v: it is more than 0", c.Duration)
	check(c.Ring >= 0, "ring is %v: it is 0 or more", c.Ring)
	check(c.Hold >= 0, "hold is %v: it is 0 or more", c.Hold)
	check(c.Repeats >= 0 && c.Repeats <= 1, "repeats is %v: it is a share from 0 to 1", c.Repeats)
	check(c.Start.Unix() >= 0 && c.Start.Year() < 2100, "start is %v: it is from 1970 to 2099", c.Start)
	check(c.Format == PCAP || c.Format == PCAPNG, "format is %q: it is pcap or pcapng", c.Format)
	return errors.Join(faults...)
}

// Written says what a capture holds, so that its reader can be checked.
type Written struct {
	Packets      int
	Associations int
	Chunks       int             // DATA, repeats included
	Repeated     int             // DATA chunks that come again
	Messages     []trace.Message // by association, then as sent; Time is when the last fragment is captured
}

// Write generates a capture. The errors are those of cfg.Validate and of w.
func Write(w io.Writer, cfg Config) (Written, error) {
	if err := cfg.Validate(); err != nil {
		return Written{}, fmt.Errorf("generator settings: %w", err)
	}
	var (
		written = Written{Associations: cfg.Associations}
		frames  []frame
	)
	for i := range cfg.Associations {
		budget := cfg.Messages / cfg.Associations
		if i < cfg.Messages%cfg.Associations {
			budget++
		}
		wire := newAssociation(cfg, i).run(budget)
		frames = append(frames, wire.frames...)
		written.Chunks += wire.chunks
		written.Repeated += wire.repeated
		written.Messages = append(written.Messages, wire.messages...)
	}
	slices.SortStableFunc(frames, func(a, b frame) int { return cmp.Compare(a.at, b.at) })
	written.Packets = len(frames)
	if err := writeCapture(w, cfg, frames); err != nil {
		return Written{}, err
	}
	return written, nil
}
