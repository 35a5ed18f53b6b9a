package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"skyring/protocol/bus"
	"skyring/statestore"
	"skyring/testbed/servers"
)

// startServers starts what the configuration has no address of, and keeps how to
// stop it.
func (s *Stack) startServers(ctx context.Context) error {
	if s.cfg.NATS.URL == "" {
		nats, err := servers.StartNATS(ctx, servers.NATSConfig{Host: s.cfg.NATSHost, Port: s.cfg.NATSPort})
		if err != nil {
			return err
		}

		s.onStop(func() error { nats.Shutdown(); return nil })

		s.cfg.NATS.URL = nats.URL()
	}

	if s.cfg.Redis.URL == "" {
		store, err := servers.StartStore(ctx, servers.DefaultRedisConfig(s.cfg.Dir))
		if err != nil {
			return err
		}

		s.onStop(func() error { return store.Stop(context.WithoutCancel(ctx)) })

		s.cfg.Redis.URL, s.warning = store.URL(), store.Warning()
	}

	return nil
}

// connect opens the store and a connection to NATS for the dispatcher and for each processor.
func (s *Stack) connect(ctx context.Context) (err error) {
	if s.store, err = statestore.Open(ctx, s.cfg.Redis, s.storeLog()); err != nil {
		return err
	}

	s.onStop(s.store.Close)

	quiet := s.log.Level(zerolog.ErrorLevel) // all has been said once
	if s.look, err = statestore.Open(ctx, s.cfg.Redis.Patient(), quiet); err != nil {
		return err
	}

	s.onStop(s.look.Close)

	for i := range s.cfg.Processors + 1 {
		name := s.cfg.Dispatcher.ID
		if i > 0 {
			name = processorID(s.cfg.Processor.ID, i)
		}

		conn, err := bus.Connect(ctx, s.cfg.NATS, name, s.log)
		if err != nil {
			return err
		}

		s.onStop(func() error { conn.Close(); return nil })
		s.conns = append(s.conns, conn)
	}

	return nil
}

// storeLog leaves out what is told of Redis' settings where the stand-in is in its place: its own warning says more.
func (s *Stack) storeLog() zerolog.Logger {
	if s.warning != "" {
		return s.log.Level(zerolog.ErrorLevel)
	}

	return s.log
}

// onStop keeps an act for Stop, which does them in reverse order.
func (s *Stack) onStop(act func() error) { s.stops = append(s.stops, act) }

// stopServers undoes, the latest first, what starting did.
func (s *Stack) stopServers() error {
	var faults []error

	for _, stop := range slices.Backward(s.stops) {
		faults = append(faults, stop())
	}

	s.stops = nil

	return errors.Join(faults...)
}

func processorID(prefix string, i int) string { return fmt.Sprintf("%s-%d", prefix, i) }
