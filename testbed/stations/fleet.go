package stations

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/client"
	"skyring/protocol/transport"
)

// fleet is all stations with the sockets that they share.
type fleet struct {
	// static after newFleet
	cfg     Config
	traffic *traffic
	dialers []*transport.Dialer

	sockets sync.WaitGroup
	clients sync.WaitGroup
	closing context.CancelFunc // ends the sockets
}

// newFleet opens the sockets and makes the stations; none is switched on.
func newFleet(ctx context.Context, cfg Config, site Site, log zerolog.Logger) (*fleet, error) {
	linking, closing := context.WithCancel(context.WithoutCancel(ctx))
	f := &fleet{cfg: cfg, traffic: newTraffic(cfg), closing: closing}

	for range sockets(cfg, site) {
		dialer, err := open(site, log)
		if err != nil {
			f.close()

			return nil, fmt.Errorf("open a socket for the stations: %w", err)
		}

		f.dialers = append(f.dialers, dialer)
		f.sockets.Go(func() {
			if err := dialer.Run(linking); err != nil {
				log.Error().Err(err).Msg("a socket of the stations failed")
			}
		})
	}

	for i := range cfg.Count {
		if err := f.add(i, site, log); err != nil {
			f.close()

			return nil, err
		}
	}

	return f, nil
}

// sockets is how many are wanted. Over IP all sockets at an address hear the packets of all, so there may be one only.
func sockets(cfg Config, site Site) int {
	if slices.ContainsFunc(site.Targets, func(t transport.Target) bool { return t.Mode == transport.ModeIP }) {
		return 1
	}

	return cfg.Sockets
}

// open opens a socket from which the targets can be reached.
func open(site Site, log zerolog.Logger) (*transport.Dialer, error) {
	settings := transport.DefaultConfig()
	settings.AcceptBacklog = 0
	settings.MaxAssociations = MaxStations
	settings.HeartbeatInterval = quietHeartbeat

	return transport.NewDialer(site.Targets, site.Secure, settings, log)
}

// quietHeartbeat is between two SCTP heartbeats of an association: thousands of idle ones cost
// little then.
const quietHeartbeat = 30 * time.Second

// add makes the ith station.
func (f *fleet) add(i int, site Site, log zerolog.Logger) error {
	cfg := client.DefaultConfig()
	cfg.Station, cfg.Key, cfg.Beam = stationID(i), f.cfg.stationKey(i), f.cfg.stationBeam(i)
	cfg.Port, cfg.MaxCalls, cfg.DialTimeout = f.cfg.Port, callsAtOnce, dialTimeout+site.Secure.HandshakeTimeout
	for n := range site.Targets {
		cfg.Targets = append(cfg.Targets, site.Targets[(i+n)%len(site.Targets)].Address)
	}

	s := &station{index: i, traffic: f.traffic}

	made, err := client.New(cfg, f.dialers[i%len(f.dialers)], s, log)
	if err != nil {
		return fmt.Errorf("make station %d: %w", i, err)
	}

	s.client = made
	f.traffic.stations = append(f.traffic.stations, s)

	return nil
}

// dialTimeout bounds the making of an association, after the handshake of DTLS; INIT is repeated within it.
const dialTimeout = 20 * time.Second

// switchOn switches the stations on, so many a second, and no faster than they get to log on; it stops when none does. Each
// logs off and ends when running ends.
func (f *fleet) switchOn(ctx, running context.Context) error {
	ticker := time.NewTicker(rampTick)
	defer ticker.Stop()

	started := time.Now()

	for next := 0; next < len(f.traffic.stations) && !f.hopeless(started); {
		wanted := 1 + int(float64(f.cfg.LogOns)*time.Since(started).Seconds())
		wanted = min(wanted, next+f.cfg.LogOns-f.traffic.pending(next)) // what a second brings may be under way

		for ; next < min(wanted, len(f.traffic.stations)); next++ {
			s := f.traffic.stations[next]

			f.clients.Go(func() {
				_ = s.client.Run(running) // a refusal was told to the station
			})
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}

	return nil
}

// hopeless tells that no station at all has got to log on for as long as log-ons may take: the target is away, or refuses
// all of them.
func (f *fleet) hopeless(since time.Time) bool {
	return time.Since(since) > f.cfg.Settle && !f.traffic.any()
}

// rampTick is between two groups of stations that are switched on.
const rampTick = 10 * time.Millisecond

// close waits for the stations to end, and ends the sockets.
func (f *fleet) close() {
	f.clients.Wait()
	f.closing()
	f.sockets.Wait()
}
