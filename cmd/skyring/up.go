package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/testbed/stack"
)

// UpConfig is what 'skyring up' starts besides a dispatcher.
type UpConfig struct {
	// Processors is how many processors run.
	Processors int `env:"PROCESSORS" yaml:"processors"`
	// NATSPort is the TCP port of NATS on 127.0.0.1; 0 takes a free one.
	NATSPort int `env:"NATS_PORT" yaml:"natsPort"`
	// Dir is where the private redis-server keeps its data.
	Dir string `env:"DIR" yaml:"dir"`
}

// DefaultUpConfig is three processors.
func DefaultUpConfig() UpConfig {
	return UpConfig{Processors: 3, NATSPort: 4222, Dir: defaultDir()}
}

// Validate names every key that is wrong and what would be right.
func (c UpConfig) Validate() error {
	var faults []error

	if c.Processors < 1 || c.Processors > 1000 {
		faults = append(faults, fmt.Errorf("processors: %d: 1 to 1000 is right", c.Processors))
	}

	if c.NATSPort < 0 || c.NATSPort > 65535 {
		faults = append(faults, fmt.Errorf("natsPort: %d: 0 (a free one) to 65535 is right", c.NATSPort))
	}

	if c.Dir == "" {
		faults = append(faults, errors.New("dir: is empty, a directory for Redis' data is right"))
	}

	return errors.Join(faults...)
}

func upCommand() *cobra.Command {
	s := settings{defaults: oneMachine}

	natsURL, redisURL := "", ""
	cmd := &cobra.Command{
		Use:   "up",
		Short: "run everything on this machine: NATS, Redis, a dispatcher and processors",
		Long: `Runs an installation in one process, for trials on one machine: NATS inside the process, a private
redis-server as a child when one is installed (else an in-memory stand-in that keeps nothing), a
dispatcher and processors. It prints where it can be reached and runs until it is interrupted.

--nats and --redis use running servers instead. The thresholds of CPU and memory are off, since all nodes
share the machine.
` + settingsHelp,
		Example: `  skyring up
  skyring up --processors 5 --listen 127.0.0.1:9900 --nats-port 0 --receipts`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}

			c.NATS.URL, c.Redis.URL = natsURL, redisURL

			return runUp(cmd.Context(), &c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.register(cmd)
	dispatcherFlags(cmd, &s)
	cmd.Flags().StringVar(&natsURL, "nats", "", "URL of a running NATS server to use instead of its own")
	cmd.Flags().StringVar(&redisURL, "redis", "", "URL of a running Redis server to use instead of its own")
	intFlag(cmd, &s, "processors", "how many processors run", func(c *Config) *int { return &c.Up.Processors })
	intFlag(cmd, &s, "nats-port", "TCP port of its own NATS on 127.0.0.1; 0: a free one", func(c *Config) *int { return &c.Up.NATSPort })
	stringFlag(cmd, &s, "dir", "where its own redis-server keeps its data", func(c *Config) *string { return &c.Up.Dir })
	metricsFlag(cmd, &s)
	printConfigFlag(cmd, &s, listening)

	return cmd
}

func runUp(ctx context.Context, c *Config, stdout, stderr io.Writer) (err error) {
	cfg, err := c.stack()
	if err != nil {
		return err
	}

	log := newLogger(c.Log, stderr)

	hup := catchHangups()
	defer hup.stop()

	running, err := stack.Start(ctx, cfg, log)
	if err != nil {
		return fmt.Errorf("up: %w", portTaken(err, moveStations+", and NATS with --nats-port N"))
	}

	stopMetrics, err := serveMetrics(ctx, c.Metrics, running, log)
	if err != nil {
		return errors.Join(err, running.Stop())
	}

	defer func() { err = errors.Join(err, stopMetrics()) }()

	if warning := running.Warning(); warning != "" {
		log.Warn().Msg(warning)
	}

	forget, err := announceNATS(c.Up.Dir, running.NATS())
	if err != nil {
		return errors.Join(err, running.Stop())
	}

	defer func() { err = errors.Join(err, forget()) }()

	_, printErr := io.WriteString(stdout, "skyring is up\n"+stationsAt(running.Listeners())+
		"  NATS      "+running.NATS()+"\n  Redis     "+running.Redis()+"\n")

	awaitEnd(ctx, running, hup, reloading(cfg.Listeners, running.Reload, log))

	if ctx.Err() != nil {
		log.Info().Msg("draining; a second signal ends at once")
	}

	err = running.Stop()

	return errors.Join(printErr, err, dispatcherEnded(running.Stats(), log))
}

// awaitEnd waits until ctx or the stack ends, and calls onHangup at each SIGHUP until then.
func awaitEnd(ctx context.Context, running *stack.Stack, hup hangups, onHangup func()) {
	serving, ended := context.WithCancel(ctx)

	var following sync.WaitGroup

	following.Go(func() { hup.follow(serving, onHangup) })

	select {
	case <-ctx.Done():
	case <-running.Done():
	}

	ended()
	following.Wait()
}

// stationsAt are the lines that say where stations arrive.
func stationsAt(listeners []transport.Arrival) string {
	var lines strings.Builder

	for _, l := range listeners {
		how := map[transport.Mode]string{transport.ModeUDP: "SCTP in UDP", transport.ModeDTLS: "SCTP in DTLS", transport.ModeIP: "SCTP over IP"}[l.Mode]
		fmt.Fprintf(&lines, "  stations  %s at %s\n", how, transport.Target(l))
	}

	return lines.String()
}

// stack is the configuration of everything in one process, validated.
func (c *Config) stack() (stack.Config, error) {
	listeners, err := c.SCTP.listeners()

	cfg := stack.Config{
		Listeners:  listeners,
		Transport:  c.SCTP.Config,
		NATSHost:   "127.0.0.1",
		NATSPort:   c.Up.NATSPort,
		NATS:       c.NATS,
		Redis:      c.store(),
		Dir:        c.Up.Dir,
		Dispatcher: c.Dispatcher,
		Processor:  c.Processor,
		ESSP:       c.ESSP,
		Processors: c.Up.Processors,
	}
	if cfg.Processor.ID == "" {
		cfg.Processor.ID = "p"
	}

	cfg.Dispatcher.Namespace, cfg.Processor.Namespace = bus.Namespace(c.Namespace), bus.Namespace(c.Namespace)

	faults := []error{
		err, c.SCTP.check(listeners, time.Now()), c.Metrics.Validate(), within("up", c.Up.Validate()), within("sctp", c.SCTP.Validate()),
		within("dispatcher", cfg.Dispatcher.Validate()), within("processor", cfg.Processor.Validate()),
		within("essp", cfg.ESSP.Validate()),
	}
	if cfg.NATS.URL != "" {
		faults = append(faults, within("nats", cfg.NATS.Validate()))
	}

	if cfg.Redis.URL != "" {
		faults = append(faults, within("redis", cfg.Redis.Validate()))
	}

	return cfg, c.validate(faults...)
}
