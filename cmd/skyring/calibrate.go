package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"skyring/processor/calibrate"
	"skyring/protocol/bus"
	"skyring/statestore"
	"skyring/testbed/servers"
)

// calibrateHelp is the part of the --help of processors about --calibrate.
const calibrateHelp = `
--calibrate measures that capacity and ends: it offers the real handlers more and more messages (a ledger's and
stations' of ESSP) until 99 of 100 answers take longer than --response-target, in the configured Redis, in a
namespace of its own that it removes again. It needs no NATS. Use the Redis and the machine that the processor will
have, with nothing else on them; never calibrate two processors on one machine or one Redis at the same time:
each would measure what the other one left. It puts load on a Redis that serves an installation.
`

// calibration is what --calibrate is told.
type calibration struct {
	wanted  bool
	seconds int
	target  time.Duration
	asJSON  bool
}

// eraseLimit is how long the namespace of a calibration may take to be removed.
const eraseLimit = time.Minute

// calibrateFlags adds --calibrate and what belongs to it, and has cmd measure instead of serve.
func calibrateFlags(cmd *cobra.Command, s *settings) {
	var o calibration

	defaults := calibrate.DefaultConfig()
	flags := cmd.Flags()
	flags.BoolVar(&o.wanted, "calibrate", false, "measure the capacity of this machine and its Redis instead of serving")
	flags.IntVar(&o.seconds, "calibrate-seconds", int(defaults.Limit/time.Second), "how long to measure, at most")
	flags.DurationVar(&o.target, "response-target", defaults.Target, "99 of 100 answers take no longer, while calibrating")
	flags.BoolVar(&o.asJSON, "json", false, "print the result of --calibrate as a JSON object")

	execute := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.wanted {
			return o.run(cmd, s)
		}

		for _, flag := range []string{"calibrate-seconds", "response-target", "json"} {
			if cmd.Flags().Changed(flag) {
				return usagef("--%s belongs to --calibrate", flag)
			}
		}

		return execute(cmd, args)
	}
}

func (o *calibration) run(cmd *cobra.Command, s *settings) error {
	c, err := s.load()
	if err != nil {
		return err
	}

	if !cmd.Flags().Changed("log-level") && c.Log.Level == DefaultLogConfig().Level {
		c.Log.Level = zerolog.WarnLevel.String()
	}

	cfg, err := o.config(&c)
	if err != nil {
		return err
	}

	result, err := o.measure(cmd.Context(), cmd.ErrOrStderr(), &c, cfg)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: nothing was found")
	}

	if err != nil {
		return err
	}

	if o.asJSON {
		err = writeJSON(cmd.OutOrStdout(), newCalibrationReport(cfg, result))
	} else {
		err = printCalibration(cmd.OutOrStdout(), cfg, result)
	}

	if err == nil && result.Capacity == 0 {
		return fmt.Errorf("not even the lowest load was answered within %s: the way was %s", cfg.Target, result.Limit)
	}

	return err
}

// config makes c that of an installation of its own, and checks it.
func (o *calibration) config(c *Config) (calibrate.Config, error) {
	var random [6]byte

	rand.Read(random[:]) // never fails
	c.Namespace = "calibrate-" + hex.EncodeToString(random[:])
	c.Processor.ID, c.Processor.Namespace = "calibrated", bus.Namespace(c.Namespace)

	if err := c.validate(within("redis", c.store().Validate()), within("processor", c.Processor.Validate()), within("essp", c.ESSP.Validate())); err != nil {
		return calibrate.Config{}, err
	}

	cfg := calibrate.DefaultConfig()
	cfg.Processor, cfg.ESSP, cfg.Target, cfg.Limit = c.Processor, c.ESSP, o.target, time.Duration(o.seconds)*time.Second

	if err := cfg.Validate(); err != nil {
		return cfg, usagef("%w", err)
	}

	return cfg, nil
}

// measure starts a NATS server of its own and removes from Redis what it wrote there.
func (o *calibration) measure(ctx context.Context, progress io.Writer, c *Config, cfg calibrate.Config) (result calibrate.Result, err error) {
	log := newLogger(c.Log, progress)

	store, err := statestore.Open(ctx, c.store(), log)
	if err != nil {
		return result, err
	}

	defer func() { err = errors.Join(err, store.Close()) }()

	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eraseLimit)
		defer cancel()

		if _, failed := store.Erase(ctx); failed != nil {
			err = errors.Join(err, fmt.Errorf("what the calibration wrote is still in Redis, under keys %s:*: %w", c.Namespace, failed))
		}
	}()

	server, err := servers.StartNATS(ctx, servers.NATSConfig{})
	if err != nil {
		return result, err
	}
	defer server.Shutdown()

	c.NATS.URL = server.URL()

	node, err := bus.Connect(ctx, c.NATS, "processor", log)
	if err != nil {
		return result, err
	}
	defer node.Close()

	generator, err := bus.Connect(ctx, c.NATS, "generator", log)
	if err != nil {
		return result, err
	}
	defer generator.Close()

	p := calibrationProgress{out: progress, began: time.Now(), limit: cfg.Limit}
	p.say("logging on %d stations, %d other sessions", cfg.Stations, cfg.Sessions)

	return calibrate.Run(ctx, cfg, store, node, generator, log, p.round)
}
