package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/replay"
	"skyring/testbed/stack"
	"skyring/testbed/trace"
)

// replayOptions are the flags of replay.
type replayOptions struct {
	settings   settings
	trace      trace.Config
	replay     replay.Config
	speed      speed
	target     string
	redisURL   string
	processors int
	asJSON     bool
	quiet      bool
}

func replayCommand() *cobra.Command {
	options := replayOptions{trace: trace.DefaultConfig(), replay: replay.DefaultConfig(), processors: 3}
	options.speed = speed(options.replay.Speed)
	options.settings.defaults = func(c *Config) { // of a stack of its own
		oneMachine(c)

		c.Dispatcher.Receipts = true
	}

	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "replay captures and judge what became of every message",
		Long: `Sends the signalling of captures over SCTP and judges what became of it. Every captured endpoint
becomes an association of its own; messages keep stream, PPID and U bit, and the order in their stream.

Without --target it starts what 'skyring up' starts, on free ports and in a directory of its own,
and stops it afterwards. With --target it replays into a running dispatcher; give --redis then, so
that the ledger can be compared, and --receipts on when the dispatcher sends them: without either
nothing can be judged. Other stations may use the target meanwhile.

` + targetHelp + `All associations of a replay are one client there: what it proves has to speak for the stations of captured ESSP;
other protocols want a proof alone.

The verdict counts messages sent, acknowledged, lost, doubled and out of order, and the sessions
that Redis holds other than the captures do. The exit code is 1 when any of these is not as it must be,
when nothing can be judged, and when the replay was interrupted.`,
		Example: `  skyring replay capture.pcapng
  skyring replay --side client --speed 10 --json day.pcap.gz
  skyring replay --target 127.0.0.1:9899 --redis redis://127.0.0.1:6379 capture.pcapng
  skyring replay --target dtls://192.0.2.1:9899 --set sctp.dtls.psk=psk.txt --set sctp.dtls.identity=hub capture.pcapng`,
		Args: minArgs(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return options.run(cmd, args) },
	}
	options.register(cmd)
	endsOnHangup(cmd)

	return cmd
}

func (o *replayOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&o.replay.Side), "side", string(o.replay.Side), "whose messages are sent: client, server or both")
	flags.Var(&o.speed, "speed", fmt.Sprintf("times as fast as captured, at least %v, or max", replay.Slowest))
	flags.IntVar(&o.replay.Times, "times", o.replay.Times, "how often the captures are sent, one round after another")
	flags.StringVar(&o.target, "target", "", targetUsage)
	flags.Uint16Var(&o.replay.SCTPPort, "sctp-port", 0, "SCTP port of the target; 0: the one of the captured server")
	flags.StringVar((*string)(&o.replay.Receipts), "receipts", string(o.replay.Receipts), "whether the target sends receipts: auto, on or off")
	flags.StringVar(&o.redisURL, "redis", "", "URL of the target's Redis, to compare the ledger")
	flags.DurationVar(&o.replay.IdleTimeout, "idle-timeout", o.replay.IdleTimeout, "how long nothing may happen before what is unanswered is lost")
	flags.IntVar(&o.processors, "processors", o.processors, "processors of its own stack")
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "no progress bar")
	traceFlags(cmd, &o.trace)
	o.settings.register(cmd)
}

func (o *replayOptions) run(cmd *cobra.Command, files []string) error {
	c, err := o.settings.load()
	if err != nil {
		return err
	}

	if !cmd.Flags().Changed("log-level") && c.Log.Level == DefaultLogConfig().Level {
		c.Log.Level = zerolog.WarnLevel.String()
	}

	log := newLogger(c.Log, cmd.ErrOrStderr())

	judge, err := o.prepare(&c, log)
	if err != nil {
		return err
	}

	traces := make([]*trace.Trace, 0, len(files))
	for _, file := range files {
		opened, err := openTrace(cmd, file, o.trace)
		if err != nil {
			return err
		}

		traces = append(traces, opened)
	}

	verdict, err := judge(cmd, traces)
	if verdict != nil {
		err = errors.Join(err, o.print(cmd.OutOrStdout(), verdict))
	}

	if err == nil && !verdict.OK() {
		return errBadVerdict
	}

	return err
}

// judgeFunc replays captures and judges what became of them.
type judgeFunc func(*cobra.Command, []*trace.Trace) (*replay.Verdict, error)

// prepare checks all flags and settings before anything is read or started, and returns the replay into
// the target, or into a stack of its own.
func (o *replayOptions) prepare(c *Config, log zerolog.Logger) (judgeFunc, error) {
	o.replay.Speed = float64(o.speed)

	if o.target == "" {
		return o.prepareOwnStack(c, log)
	}

	return o.prepareTarget(c, log)
}

func (o *replayOptions) prepareTarget(c *Config, log zerolog.Logger) (judgeFunc, error) {
	var err error
	if o.replay.Target, o.replay.Secure, err = c.SCTP.target("--target", o.target); err != nil {
		return nil, err
	}

	if err := o.replay.Validate(); err != nil {
		return nil, &usageError{err: err}
	}

	if o.redisURL == "" {
		if o.replay.Receipts == replay.ReceiptsOff {
			return nil, usagef("--receipts off needs --redis: without receipts only the ledger in the target's Redis can judge")
		}

		return func(cmd *cobra.Command, traces []*trace.Trace) (*replay.Verdict, error) {
			return o.play(cmd, traces, nil, log)
		}, c.validate()
	}

	c.Redis.URL = o.redisURL
	if err := c.validate(within("redis", c.store().Validate())); err != nil {
		return nil, err
	}

	return func(cmd *cobra.Command, traces []*trace.Trace) (verdict *replay.Verdict, err error) {
		store, err := statestore.Open(cmd.Context(), c.store().Patient(), log)
		if err != nil {
			return nil, err
		}

		defer func() { err = errors.Join(err, store.Close()) }()

		return o.play(cmd, traces, store, log)
	}, nil
}

func (o *replayOptions) prepareOwnStack(c *Config, log zerolog.Logger) (judgeFunc, error) {
	if o.redisURL != "" {
		return nil, usagef("--redis needs --target: without one, replay starts a Redis of its own")
	}

	cfg, err := ownStack(c, os.TempDir(), o.processors)
	if err != nil {
		return nil, err
	}

	o.replay.Target = transport.Target{Mode: transport.ModeUDP, Address: netip.AddrPortFrom(cfg.Listeners[0].Address.Addr(), 1)} // known when the stack has started
	if err := o.replay.Validate(); err != nil {
		return nil, &usageError{err: err}
	}

	if !cfg.Dispatcher.Receipts {
		if o.replay.Receipts == replay.ReceiptsOn {
			return nil, usagef("--receipts on and dispatcher.receipts false: the stack of its own would send none")
		}

		o.replay.Receipts = replay.ReceiptsOff

		log.Warn().Msg("dispatcher.receipts is false: the ledger alone judges, and there is no latency")
	}

	return func(cmd *cobra.Command, traces []*trace.Trace) (*replay.Verdict, error) {
		return o.intoOwnStack(cmd, cfg, traces, log)
	}, nil
}

func (o *replayOptions) intoOwnStack(cmd *cobra.Command, cfg stack.Config, traces []*trace.Trace, log zerolog.Logger) (verdict *replay.Verdict, err error) {
	dir, err := temporaryDir(os.TempDir(), "skyring-replay-", time.Now())
	if err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, dir.remove()) }()

	cfg.Dir = dir.path

	running, err := stack.Start(cmd.Context(), cfg, log)
	if err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, running.Stop()) }()

	if warning := running.Warning(); warning != "" {
		log.Warn().Msg(warning)
	}

	o.replay.Target.Address = running.Addr()

	return o.play(cmd, traces, running.Store(), log)
}

// ownStack is the configuration of a stack that replay starts for itself.
func ownStack(c *Config, dir string, processors int) (stack.Config, error) {
	c.NATS.URL, c.Redis.URL = "", "" // servers of its own
	c.Up.Processors = processors
	c.Up.NATSPort = 0
	c.SCTP.Listen, c.SCTP.Allow, c.SCTP.DTLS = "127.0.0.1:0", "", transport.DefaultSecureConfig()
	c.Up.Dir = dir

	return c.stack()
}

// play runs the replay with a progress bar.
func (o *replayOptions) play(cmd *cobra.Command, traces []*trace.Trace, store *statestore.Store, log zerolog.Logger) (*replay.Verdict, error) {
	bar := o.progress(cmd.ErrOrStderr())

	player, err := replay.New(o.replay, traces, store, bar, log)
	if err != nil {
		return nil, &usageError{err: err}
	}

	verdict, err := player.Run(cmd.Context())
	if err != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted: the verdict is of what was sent until then")
	}

	return verdict, err
}

// progress returns what shows the progress on w, a bar where w is a terminal.
func (o *replayOptions) progress(w io.Writer) func(done, total uint64) {
	file, ok := w.(*os.File)
	if !ok || o.quiet || !isTerminal(file) {
		return nil
	}

	bar := progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(file), progressbar.OptionSetDescription("replaying"), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetItsString("msg"), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())

	return func(done, total uint64) {
		bar.ChangeMax64(int64(total)) //nolint:gosec // bounded by the messages that fit memory
		_ = bar.Set64(int64(done))    //nolint:gosec // at most total
	}
}

// isTerminal tells whether file is a character device.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()

	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (o *replayOptions) print(w io.Writer, verdict *replay.Verdict) error {
	if o.asJSON {
		return writeJSON(w, verdict)
	}

	return verdict.Render(w)
}
