package sctpbench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Names of the contestants.
const (
	TCP       = "tcp"              // frames with their length before them, a connection for each association
	UDP       = "udp"              // datagrams, a pair of connected sockets for each association
	PionStock = "pionStock"        // pion's own client and server, a pair of connected UDP sockets for each association
	Skyring   = "skyring"          // protocol/transport, all associations between two UDP sockets
	Stations  = "skyring-stations" // the same, each association from a UDP socket of its own, as stations have it
	DTLS      = "skyring-dtls"     // the same over DTLS with a pre-shared key
	USRSCTP   = "usrsctp"          // over UDP, each end a process, all associations between two sockets
)

// Names are those of all contestants, in the order of rows.
func Names() []string {
	var names []string
	for _, c := range contestants() {
		names = append(names, c.name)
	}
	return names
}

// messageSize is in bytes, of what is echoed.
const messageSize = 128

// contestant is a way to carry messages.
type contestant struct {
	name string
	// prepare makes files in dir, where some are needed. The error says why it cannot be measured here.
	prepare func(ctx context.Context, dir string) (opener, error)
	open    opener // set when prepared
}

// opener sets associations up; on an error nothing stays.
type opener func(ctx context.Context, associations int) (*site, error)

// site is two ends with associations between them.
type site struct {
	// sustain keeps window messages under way on each association and then waits for those that are to come back still.
	sustain func(ctx context.Context, window int, t timing) (outcome, error)
	// close ends all and returns when it has ended. The error says what came that was not sent.
	close func() error
}

// timing is of one measurement.
type timing struct {
	warm, counted time.Duration // the second follows the first
}

// outcome is what came of one.
type outcome struct {
	sent     int           // all have come back
	counted  int           // that came back in the time that counts
	took     time.Duration // that time
	cpu      time.Duration // of both ends in it
	others   float64       // share of the machine's processor time that went to others in it, 0 to 1
	p50, p99 time.Duration // round trips of those that count
}

func contestants() []contestant {
	ready := func(open opener) func(context.Context, string) (opener, error) {
		return func(context.Context, string) (opener, error) { return open, nil }
	}
	return []contestant{
		{name: TCP, prepare: ready(openTCP)},
		{name: UDP, prepare: ready(openUDP)},
		{name: PionStock, prepare: ready(openPion)},
		{name: Skyring, prepare: ready(openSkyring)},
		{name: Stations, prepare: ready(openStations)},
		{name: DTLS, prepare: prepareDTLS},
		{name: USRSCTP, prepare: prepareUSRSCTP},
	}
}

const (
	warmShare = 3 // part of a round's duration that its warm-up takes before
	setup     = 20 * time.Second
	patience  = 30 * time.Second // for the last messages
)

// round opens, warms up, measures and closes. A round in which nothing came back, as on a machine that has no time for it, is
// begun again, twice as long.
func (c *contestant) round(ctx context.Context, load Load, duration time.Duration) (Round, error) {
	for {
		o, err := c.measure(ctx, load, timing{warm: duration / warmShare, counted: duration})
		switch {
		case err != nil:
			return Round{}, err
		case o.counted > 0:
			return newRound(o), nil
		case duration > MaxDuration/2:
			return Round{}, fmt.Errorf("no message came back within %v", duration)
		}
		duration *= 2
	}
}

func (c *contestant) measure(ctx context.Context, load Load, t timing) (outcome, error) {
	opening, cancel := context.WithTimeoutCause(ctx, setup, fmt.Errorf("not set up within %v", setup))
	defer cancel()
	s, err := c.open(opening, load.Associations)
	if err != nil {
		return outcome{}, fmt.Errorf("set up: %w", err)
	}
	runtime.GC() // what set-up and the contestant before left behind
	measuring, cancel := context.WithTimeoutCause(ctx, t.warm+t.counted+patience, fmt.Errorf("a message did not come back within %v", patience))
	defer cancel()
	closed := sync.OnceValue(s.close)
	stop := context.AfterFunc(measuring, func() { _ = closed() }) // who waits to send knows no context
	o, err := s.sustain(measuring, load.Window, t)
	if failed := closed(); stop() { // else what it misses came of closing it
		err = errors.Join(err, failed)
	}
	return o, err
}

// meter reads the processors' clocks when the time that counts begins and when it ends; own is that of both ends.
func (t timing) meter(ctx context.Context, own func() (time.Duration, error)) (cpu time.Duration, others float64, err error) {
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	wait(t.warm)
	begun, busy := time.Now(), busyTime()
	before, err1 := own()
	wait(t.counted)
	after, err2 := own()
	busy, elapsed := busyTime()-busy, time.Since(begun)
	if err := errors.Join(err, err1, err2); err != nil {
		return 0, 0, err
	}
	cpu = after - before
	others = (busy - cpu).Seconds() / elapsed.Seconds() / float64(runtime.NumCPU())
	cpu = time.Duration(float64(cpu) * t.counted.Seconds() / elapsed.Seconds()) // the timer was late
	return cpu, min(max(others, 0), 1), nil
}
