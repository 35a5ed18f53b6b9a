package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"skyring/dispatcher"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
)

func dispatcherCommand() *cobra.Command {
	var s settings

	cmd := &cobra.Command{
		Use:   "dispatcher",
		Short: "take signalling in over SCTP and route it to processors",
		Long: `Listens for SCTP in UDP (RFC 6951), gives each session a processor on the ring, carries its messages
there over NATS, and keeps each until its effect is committed. Several dispatchers run side by side; they
need the same NATS and the same namespace, and each an id of its own.

An association is read once a processor has given it its epoch, so stations wait while there is none.
` + settingsHelp,
		Example: `  skyring dispatcher --id d1 --nats nats://127.0.0.1:4222 --listen 127.0.0.1:9899
  skyring dispatcher --config /etc/skyring/skyring.yaml`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}

			return runDispatcher(cmd.Context(), &c, newLogger(c.Log, cmd.ErrOrStderr()))
		},
	}
	s.register(cmd)
	dispatcherFlags(cmd, &s)
	stringFlag(cmd, &s, "nats", "URL of the NATS server", func(c *Config) *string { return &c.NATS.URL })
	metricsFlag(cmd, &s)
	printConfigFlag(cmd, &s, listening)

	return cmd
}

// moveStations says how to have stations arrive at another port.
const moveStations = "take another one with --listen HOST:PORT"

// dispatcherFlags are the flags of every command that runs a dispatcher.
func dispatcherFlags(cmd *cobra.Command, s *settings) {
	stringFlag(cmd, s, "id", "names the dispatcher, uniquely in its namespace", func(c *Config) *string { return &c.Dispatcher.ID })
	stringFlag(cmd, s, "listen", "where stations arrive: numeric HOST:PORT (SCTP in UDP), dtls://HOST:PORT or ip://HOST (IP protocol 132), several separated by commas", func(c *Config) *string { return &c.SCTP.Listen })
	boolFlag(cmd, s, "receipts", "answer each committed message that has no reply of its own", func(c *Config) *bool { return &c.Dispatcher.Receipts })
}

func runDispatcher(ctx context.Context, c *Config, log zerolog.Logger) (err error) {
	c.Dispatcher.Namespace = bus.Namespace(c.Namespace)

	listeners, err := c.SCTP.listeners()
	if err := c.validate(err, c.SCTP.check(listeners, time.Now()), c.Metrics.Validate(), within("sctp", c.SCTP.Validate()), within("nats", c.NATS.Validate()),
		within("dispatcher", c.Dispatcher.Validate())); err != nil {
		return err
	}

	hup := catchHangups()
	defer hup.stop()

	conn, err := bus.Connect(ctx, c.NATS, c.Dispatcher.ID, log)
	if err != nil {
		return err
	}
	defer conn.Close()

	endpoint, err := openEndpoint(listeners, c.SCTP.Config, log)
	if err != nil {
		return err
	}

	d, err := dispatcher.New(c.Dispatcher, endpoint, conn, log)
	if err != nil {
		return errors.Join(err, endpoint.Discard())
	}

	stopMetrics, err := serveMetrics(ctx, c.Metrics, d, log)
	if err != nil {
		return errors.Join(err, endpoint.Discard())
	}

	defer func() { err = errors.Join(err, stopMetrics()) }()

	onHangup := reloading(listeners, endpoint.Reload, log)

	return serveDispatcher(ctx, d, endpoint, func(serving context.Context) { hup.follow(serving, onHangup) }, log)
}

// serveDispatcher runs the dispatcher until ctx ends, and the endpoint and beside until the
// dispatcher has drained.
func serveDispatcher(ctx context.Context, d *dispatcher.Dispatcher, endpoint *transport.Endpoint, beside func(context.Context), log zerolog.Logger) error {
	linking, stop := context.WithCancel(context.WithoutCancel(ctx))

	var (
		running sync.WaitGroup
		linkErr error
	)

	running.Go(func() { linkErr = endpoint.Run(linking) })
	running.Go(func() { beside(linking) })

	err := d.Run(ctx)

	stop()
	running.Wait()

	return errors.Join(err, dispatcherEnded(d.Stats(), log), linkErr)
}

// dispatcherEnded logs what a dispatcher did in its life; messages that it leaves behind are an error.
func dispatcherEnded(stats dispatcher.Stats, log zerolog.Logger) error {
	log.Info().Uint64("messages", stats.Submitted).Int("unanswered", stats.Unanswered).
		Interface("answers", stats.Answers).Interface("resent", stats.Resent).Interface("dropped", stats.Dropped).
		Msg("dispatcher ended")

	switch stats.Unanswered {
	case 0:
		return nil
	case 1:
		return errors.New("1 message was left unanswered")
	default:
		return fmt.Errorf("%d messages were left unanswered", stats.Unanswered)
	}
}

// portTaken adds what to do to an error that says that a port is in use.
func portTaken(err error, advice string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: another program has this port, perhaps a 'skyring up' or another dispatcher: %s", err, advice)
	}

	return err
}
