// Package echo measures how long messages take over a bad link and back: a server sends back what clients send it, over
// SCTP through a link.Emulator, all on loopback.
//
//	clients --SCTP-- emulator --SCTP-- server
//	   \___________ a message, and its echo _/
package echo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/rs/zerolog"

	"skyring/protocol/transport"
	"skyring/testbed/link"
)

// Config is one measurement.
type Config struct {
	// Link is what happens to packets, each way. They are only delayed until all associations are up. Outages count from
	// the start of Run.
	Link link.Direction
	// Associations send side by side, Rate messages a second each, over Streams in turn, for Duration.
	Associations int
	Rate         float64
	Streams      uint16
	Duration     time.Duration
	// Size is how long a message is in bytes, at least 8.
	Size int
	// Seed is of the link.
	Seed uint64
	// SCTP is the configuration of both ends.
	SCTP transport.Config
}

// DefaultConfig is what terminals of a GEO network send: 20 messages of 128 bytes a second each, over four streams and a round
// trip of 600 ms.
func DefaultConfig() Config {
	return Config{
		Link:         link.Direction{Delay: 300 * time.Millisecond},
		Associations: 10, Rate: 20, Streams: 4, Duration: 20 * time.Second, Size: 128, Seed: 1,
		SCTP: transport.DefaultConfig(),
	}
}

const minSize = 8 // bytes: when it was due

// Validate names all faults at once.
func (c Config) Validate() error {
	faults := []error{c.Link.Validate(), c.SCTP.Validate()}
	within := func(key string, value, low, high float64) {
		if value < low || value > high || value != value {
			faults = append(faults, fmt.Errorf("%s: %v: %v to %v is right", key, value, low, high))
		}
	}
	within("associations", float64(c.Associations), 1, 10_000)
	within("messages a second", c.Rate, 0.01, 100_000)
	within("streams", float64(c.Streams), 1, float64(c.SCTP.Streams))
	within("duration in seconds", c.Duration.Seconds(), 0.01, 3600)
	within("message size in bytes", float64(c.Size), minSize, float64(c.SCTP.MaxMessage))
	return errors.Join(faults...)
}

// messages is how many an association sends.
func (c Config) messages() int { return max(int(c.Rate*c.Duration.Seconds()), 1) }

// Result is what came of it. Times run from when a message was due, not from when it could be sent.
type Result struct {
	Sent, Echoed int
	Times        *hdrhistogram.Histogram // microseconds
	Link         link.Stats
}

// At is the time that a share of the messages took at most; q from 0 to 1.
func (r *Result) At(q float64) time.Duration {
	return time.Duration(r.Times.ValueAtQuantile(100*q)) * time.Microsecond
}

// String is one line for people.
func (r *Result) String() string {
	there, back := r.Link.Ways[link.ToTarget], r.Link.Ways[link.ToClient]
	return fmt.Sprintf("%d of %d echoed, p50 %.3f s, p99 %.3f s, max %.3f s; %d of %d packets lost; emulator late by %.3f s at most",
		r.Echoed, r.Sent, r.At(0.5).Seconds(), r.At(0.99).Seconds(), r.At(1).Seconds(),
		there.Dropped(link.Lost)+back.Dropped(link.Lost), there.Received+back.Received, r.Link.Lag.Seconds())
}

// Run measures, which takes Duration and a few round trips. The error is ctx's, or says what did not come about: an
// association that was not set up or that ended, or messages whose echo did not come within a minute after the last was
// sent. The result is what was measured until then, if anything.
func Run(ctx context.Context, cfg Config, log zerolog.Logger) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure the measurement:\n%w", err)
	}
	s, err := open(cfg, log)
	if err != nil {
		return nil, err
	}
	stop := s.start(ctx)
	result, err := s.measure(ctx)
	return result, errors.Join(err, stop())
}
