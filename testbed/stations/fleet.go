package stations

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/client"
	"skyring/protocol/transport"
)

// fleet is all stations with the sockets that they share.
type fleet struct {
	// static after newFleet
	cfg       Config
	traffic   *traffic
	endpoints []*transport.Endpoint

	sockets sync.WaitGroup
	clients sync.WaitGroup
	closing context.CancelFunc // ends the sockets
}

// newFleet opens the sockets and makes the stations; none is switched on.
func newFleet(ctx context.Context, cfg Config, targets []netip.AddrPort, log zerolog.Logger) (*fleet, error) {
	linking, closing := context.WithCancel(context.WithoutCancel(ctx))
	f := &fleet{cfg: cfg, traffic: newTraffic(cfg), closing: closing}

	for range cfg.Sockets {
		endpoint, err := listen(targets[0], log)
		if err != nil {
			f.close()

			return nil, err
		}

		f.endpoints = append(f.endpoints, endpoint)
		f.sockets.Go(func() {
			if err := endpoint.Run(linking); err != nil {
				log.Error().Err(err).Msg("a socket of the stations failed")
			}
		})
	}

	for i := range cfg.Count {
		if err := f.add(i, targets, log); err != nil {
			f.close()

			return nil, err
		}
	}

	return f, nil
}

// listen opens a socket from which targets like one can be reached.
func listen(target netip.AddrPort, log zerolog.Logger) (*transport.Endpoint, error) {
	local := netip.IPv4Unspecified()
	if target.Addr().Is6() && !target.Addr().Is4In6() {
		local = netip.IPv6Unspecified()
	}

	if target.Addr().IsLoopback() {
		local = target.Addr()
	}

	link, err := transport.ListenUDP(netip.AddrPortFrom(local, 0))
	if err != nil {
		return nil, err
	}

	settings := transport.DefaultConfig()
	settings.AcceptBacklog = 0
	settings.MaxAssociations = MaxStations
	settings.HeartbeatInterval = quietHeartbeat

	endpoint, err := transport.New(link, settings, log)
	if err != nil {
		return nil, errors.Join(err, link.Close())
	}

	return endpoint, nil
}

// quietHeartbeat is between two SCTP heartbeats of an association: thousands of idle ones cost
// little then.
const quietHeartbeat = 30 * time.Second

// add makes the ith station.
func (f *fleet) add(i int, targets []netip.AddrPort, log zerolog.Logger) error {
	cfg := client.DefaultConfig()
	cfg.Station, cfg.Key, cfg.Beam = stationID(i), f.cfg.stationKey(i), f.cfg.stationBeam(i)
	cfg.Targets = append(append([]netip.AddrPort{}, targets[i%len(targets):]...), targets[:i%len(targets)]...)
	cfg.Port, cfg.MaxCalls, cfg.DialTimeout = f.cfg.Port, callsAtOnce, dialTimeout
	s := &station{index: i, traffic: f.traffic}

	made, err := client.New(cfg, f.endpoints[i%len(f.endpoints)], s, log)
	if err != nil {
		return fmt.Errorf("make station %d: %w", i, err)
	}

	s.client = made
	f.traffic.stations = append(f.traffic.stations, s)

	return nil
}

// dialTimeout bounds the making of an association; INIT is repeated within it.
const dialTimeout = 20 * time.Second

// switchOn switches the stations on, so many a second, and no faster than they get to log on. Each logs
// off and ends when running ends.
func (f *fleet) switchOn(ctx, running context.Context) error {
	ticker := time.NewTicker(rampTick)
	defer ticker.Stop()

	started := time.Now()

	for next := 0; next < len(f.traffic.stations); {
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

// rampTick is between two groups of stations that are switched on.
const rampTick = 10 * time.Millisecond

// close waits for the stations to end, and ends the sockets.
func (f *fleet) close() {
	f.clients.Wait()
	f.closing()
	f.sockets.Wait()
}
