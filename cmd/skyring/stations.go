package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/stations"
)

// stationsOptions are the flags of stations.
type stationsOptions struct {
	settings   settings
	play       stations.Config
	seconds    float64
	target     string
	redisURL   string
	processors int
	asJSON     bool
	quiet      bool
}

func stationsCommand() *cobra.Command {
	options := stationsOptions{play: stations.DefaultConfig(), processors: 3}
	options.seconds = options.play.Duration.Seconds()
	options.settings.defaults = oneMachine

	cmd := &cobra.Command{
		Use:   "stations",
		Short: "play earth stations that log on and call each other, and judge what came of it",
		Long: `Plays earth stations in one process: they log on, call each other, hang up as planned and log off. An
audit then compares what the stations saw with what Redis holds: channels, call records, call detail records.

Without --target it starts an installation of its own and stops it afterwards: NATS and a dispatcher in this
process, a private redis-server, and processors as processes of their own. --kill-processor kills one of them
after a third of the time, --add-processor adds one after half of it. With --target it plays against a
running dispatcher; give --redis then, so that it can put its stations and channels into the tables (under
ids and beams of their own, FF53494D... and 64000 up) and do the audit. They stay in the target's tables
afterwards: there is no command that removes stations, 'skyring station bar' keeps one off.

` + targetHelp + stationsIdentityHelp() + `

The exit code is 1 when a station does not log on, a call does not come about or is dropped, a channel leaks,
a call record does not end, or there is not exactly one call detail record a call.`,
		Example: `  skyring stations --count 2000 --calls 200 --seconds 30 --kill-processor --add-processor
  skyring stations --count 10000 --calls 100 --json
  skyring stations --target 127.0.0.1:9899 --redis redis://127.0.0.1:6379
  skyring stations --target dtls://192.0.2.1:9899 --redis redis://192.0.2.1:6379 --set sctp.dtls.ca=pki/ca.pem \
      --set sctp.dtls.certificate=pki/client-hub.pem --set sctp.dtls.key=pki/client-hub-key.pem`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return options.run(cmd) },
	}
	options.register(cmd)
	endsOnHangup(cmd)

	return cmd
}

func (o *stationsOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&o.play.Count, "count", o.play.Count, "stations")
	flags.IntVar(&o.play.Calls, "calls", o.play.Calls, "calls at a time")
	flags.Float64Var(&o.seconds, "seconds", o.seconds, "how long calls are set up")
	flags.BoolVar(&o.play.KillProcessor, "kill-processor", false, "kill a processor after a third of the time")
	flags.BoolVar(&o.play.AddProcessor, "add-processor", false, "add a processor after half of the time")
	flags.Uint64Var(&o.play.Seed, "seed", o.play.Seed, "of all that is random")
	flags.IntVar(&o.play.LogOns, "log-ons", o.play.LogOns, "stations that are switched on a second")
	flags.DurationVar(&o.play.Hold, "hold", o.play.Hold, "mean time that a call is held")
	flags.DurationVar(&o.play.Ring, "ring", o.play.Ring, "mean time until the called user answers")
	flags.IntVar(&o.play.Beams, "beams", o.play.Beams, "beams that the stations are spread over")
	flags.IntVar(&o.play.Sockets, "sockets", o.play.Sockets, "UDP sockets that the stations share")
	flags.DurationVar(&o.play.Settle, "settle", o.play.Settle, "how long log-ons, and in the end channels and records, may take to settle")
	flags.IntVar(&o.processors, "processors", o.processors, "processors of its own installation")
	flags.StringVar(&o.target, "target", "", targetUsage)
	flags.Uint16Var(&o.play.Port, "sctp-port", o.play.Port, "SCTP port of the target")
	flags.StringVar(&o.redisURL, "redis", "", "URL of the target's Redis")
	flags.BoolVar(&o.asJSON, "json", false, "print one line with a JSON object")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	o.settings.register(cmd)
}

func (o *stationsOptions) run(cmd *cobra.Command) error {
	c, err := o.settings.load()
	if err != nil {
		return err
	}

	if !cmd.Flags().Changed("log-level") && c.Log.Level == DefaultLogConfig().Level {
		c.Log.Level = zerolog.ErrorLevel.String()
	}

	o.play.Duration = time.Duration(o.seconds * float64(time.Second))
	if err := o.play.Validate(); err != nil {
		return usagef("the run is wrong:\n%w", err)
	}

	result, err := o.judge(cmd, &c, newLogger(c.Log, cmd.ErrOrStderr()))
	if result == nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted: there is no verdict")
		}

		return err
	}

	if err := errors.Join(err, o.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), result)); err != nil {
		return err
	}

	if !result.OK() {
		return errBadVerdict
	}

	return nil
}

// judge plays against the target, or against an installation of its own.
func (o *stationsOptions) judge(cmd *cobra.Command, c *Config, log zerolog.Logger) (*stations.Result, error) {
	if o.target != "" {
		return o.againstTarget(cmd, c, log)
	}

	return o.againstOwn(cmd, c, log)
}

func (o *stationsOptions) againstTarget(cmd *cobra.Command, c *Config, log zerolog.Logger) (result *stations.Result, err error) {
	if o.play.KillProcessor || o.play.AddProcessor {
		return nil, usagef("--kill-processor and --add-processor need an installation of its own: leave --target out")
	}

	target, secure, err := c.SCTP.target("--target", o.target)
	if err != nil {
		return nil, err
	}

	site := stations.Site{Targets: []transport.Target{target}, Secure: secure}

	if o.redisURL != "" {
		c.Redis.URL = o.redisURL
		if err := c.validate(within("redis", c.Redis.Validate())); err != nil {
			return nil, err
		}

		if site.Store, err = statestore.Open(cmd.Context(), c.store().Patient(), log); err != nil {
			return nil, err
		}

		defer func() { err = errors.Join(err, site.Store.Close()) }()
	}

	return stations.Run(cmd.Context(), o.play, site, o.progress(cmd.ErrOrStderr()), log)
}

func (o *stationsOptions) againstOwn(cmd *cobra.Command, c *Config, log zerolog.Logger) (result *stations.Result, err error) {
	if o.redisURL != "" {
		return nil, usagef("--redis needs --target: without one, stations starts a Redis of its own")
	}

	dir, err := temporaryDir(os.TempDir(), "skyring-stations-", time.Now())
	if err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, dir.remove()) }()

	cfg, err := o.installation(cmd, c, dir.path)
	if err != nil {
		return nil, err
	}

	running, err := stations.Start(cmd.Context(), cfg, log)
	if err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, running.Stop(cmd.Context())) }()

	if warning := running.Warning(); warning != "" {
		log.Warn().Msg(warning)
	}

	return stations.Run(cmd.Context(), o.play, running.Site(), o.progress(cmd.ErrOrStderr()), log)
}

// quietHeartbeat is between two SCTP heartbeats of an idle association of the own
// installation: thousands of stations on one machine leave it something to do.
const quietHeartbeat = 30 * time.Second

// installation is what the run starts for itself.
func (o *stationsOptions) installation(cmd *cobra.Command, c *Config, dir string) (stations.InstallationConfig, error) {
	binary, err := os.Executable()
	if err != nil {
		return stations.InstallationConfig{}, fmt.Errorf("find the program's own file: %w", err)
	}

	if o.play.Count > c.SCTP.MaxAssociations {
		c.SCTP.MaxAssociations = o.play.Count
	}

	c.SCTP.HeartbeatInterval = quietHeartbeat

	own, err := ownStack(c, dir, o.processors)
	own.Dispatcher.Receipts = false

	return stations.InstallationConfig{
		Stack: own, Processors: o.processors,
		Command: func(id, nats, redis string) *exec.Cmd {
			args := []string{
				"processor", "--id", id, "--nats", nats, "--redis", redis, "--namespace", c.Namespace,
				"--log-level", c.Log.Level, "--log-format", c.Log.Format,
			}
			if o.settings.file != "" {
				args = append(args, "--config", o.settings.file)
			}

			for _, assignment := range o.settings.set {
				args = append(args, "--set", assignment)
			}

			process := exec.Command(binary, args...) //nolint:gosec,noctx // this program itself; it is stopped by the installation
			process.Stderr = cmd.ErrOrStderr()

			return process
		},
	}, err
}

// progress returns what shows the progress on w.
func (o *stationsOptions) progress(w io.Writer) func(stations.Progress) {
	if o.quiet {
		return nil
	}

	return func(p stations.Progress) {
		what := p.Note
		if what == "" {
			what = fmt.Sprintf("%s: %d logged on, %d calls up, %d coming up or ending, %d in all", p.Phase, p.LoggedOn, p.Up, p.Running-p.Up, p.Attempts)
		}

		if p.Trouble != "" {
			what += "; " + p.Trouble
		}

		fmt.Fprintf(w, "%5.0f s  %s\n", p.Elapsed.Seconds(), what) //nolint:errcheck // progress is for who looks
	}
}

func (o *stationsOptions) print(w, stderr io.Writer, result *stations.Result) error {
	if !o.asJSON {
		return result.Render(w)
	}

	err := result.WriteJSON(w)
	if !result.OK() { // the line has no place for the reasons
		err = errors.Join(err, result.Render(stderr))
	}

	return err
}
