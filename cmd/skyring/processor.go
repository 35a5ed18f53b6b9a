package main

import (
	"context"
	"errors"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"skyring/processor"
	"skyring/processor/essp"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
	"skyring/statestore"
)

func processorCommand() *cobra.Command {
	var s settings

	cmd := &cobra.Command{
		Use:   "processor",
		Short: "apply messages to sessions in Redis",
		Long: `Takes messages from dispatchers over NATS, applies them to their sessions and commits the sessions to
Redis. It keeps nothing itself: any number of processors run side by side, and any of them goes on where another
ended. Start one more to scale; stop one with SIGTERM and it drains.

Its share of the ring is its capacity (messages a second that it sustains) over the sum of all.
` + calibrateHelp + settingsHelp,
		Example: `  skyring processor --id p1 --nats nats://127.0.0.1:4222 --redis redis://127.0.0.1:6379
  skyring processor --id p2 --capacity 4000
  skyring processor --calibrate --redis redis://127.0.0.1:6379`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}

			return runProcessor(cmd.Context(), &c, newLogger(c.Log, cmd.ErrOrStderr()))
		},
	}
	s.register(cmd)
	stringFlag(cmd, &s, "id", "names the processor, uniquely in its namespace; empty: made of host and process number",
		func(c *Config) *string { return &c.Processor.ID })
	stringFlag(cmd, &s, "nats", "URL of the NATS server", func(c *Config) *string { return &c.NATS.URL })
	stringFlag(cmd, &s, "redis", "URL of the Redis server: redis://host:port, unix:///path", func(c *Config) *string { return &c.Redis.URL })
	capacityFlag(cmd, &s)
	metricsFlag(cmd, &s)
	calibrateFlags(cmd, &s)
	printConfigFlag(cmd, &s, elsewhere)

	return cmd
}

// capacityFlag adds --capacity.
func capacityFlag(cmd *cobra.Command, s *settings) {
	value := cmd.Flags().Uint32("capacity", processor.DefaultConfig().Capacity, "messages a second that it sustains: its weight on the ring")
	s.whenGiven(cmd, "capacity", func(c *Config) { c.Processor.Capacity = *value })
}

func runProcessor(ctx context.Context, c *Config, log zerolog.Logger) (err error) {
	c.Processor.Namespace = bus.Namespace(c.Namespace)
	if c.Processor.ID == "" {
		c.Processor.ID = defaultID("p")
	}

	if err := c.validate(c.Metrics.Validate(), within("nats", c.NATS.Validate()), within("redis", c.store().Validate()),
		within("processor", c.Processor.Validate()), within("essp", c.ESSP.Validate())); err != nil {
		return err
	}

	hup := catchHangups()
	defer hup.stop()

	store, err := statestore.Open(ctx, c.store(), log)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, store.Close()) }()

	conn, err := bus.Connect(ctx, c.NATS, c.Processor.ID, log)
	if err != nil {
		return err
	}
	defer conn.Close()

	handlers, err := essp.Handlers(ctx, c.ESSP, store, processor.NewHandlers(ledger.Handler{}))
	if err != nil {
		return err
	}

	p, err := processor.New(c.Processor, store, conn, handlers, log)
	if err != nil {
		return err
	}

	stopMetrics, err := serveMetrics(ctx, c.Metrics, p, log)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, stopMetrics()) }()

	var following sync.WaitGroup
	defer following.Wait()

	running, ended := context.WithCancel(context.WithoutCancel(ctx))
	defer ended()

	following.Go(func() {
		hup.follow(running, nothingToReload("a processor reads its settings when it starts", log))
	})

	return p.Run(ctx)
}
