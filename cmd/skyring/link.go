package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skyring/testbed/link"
)

// linkOptions are the flags of link.
type linkOptions struct {
	cfg            link.Config
	listen, target string
	both           link.Direction // what --to-target and --to-client start from
	toTarget       terms
	toClient       terms
}

func linkCommand() *cobra.Command {
	cfg := link.DefaultConfig()
	options := linkOptions{cfg: cfg, both: cfg.ToTarget}
	cmd := &cobra.Command{
		Use:   "link --listen HOST:PORT --target HOST:PORT",
		Short: "put a bad link between stations and a dispatcher: delay, loss, outages, changing ports",
		Long: `Relays UDP between clients and a target, and does to the packets what a satellite link does: it delays
them, loses, doubles and reorders some, goes dark for a while, has little bandwidth, and has the target see
its clients at new ports, as a NAT does that forgot them. Point stations at --listen instead of the dispatcher.

The flags hold for both ways, so a --delay of 300ms is a round trip of 600 ms. --to-target and --to-client
change that for one way: keys and values with commas between, the keys being the names of the flags
(delay, jitter, loss, duplicate, reorder, reorder-by, outage, rate, queue).

A share is from 0 to 1: --loss 0.01 loses one packet in a hundred. Times count from the start: --outage 10s+5s
loses all that is sent from the tenth to the fifteenth second. --jitter keeps packets in order, --reorder makes a
share of them late, by --reorder-by. --rate counts bits of UDP payload a second; what comes faster waits in a queue
of --queue bytes, and what finds it full is lost.

The same --seed loses the same packets again: the seventh of the third client, whatever the others do.

It runs until SIGINT or SIGTERM, and then prints what became of all packets. Each client takes a UDP port of this
machine, which is given back after --client-idle.`,
		Example: `  skyring link --listen 127.0.0.1:9900 --target 127.0.0.1:9899 --delay 300ms --jitter 10ms --loss 0.01
  skyring link --listen 127.0.0.1:9900 --target 127.0.0.1:9899 --outage 30s+10s --rebind 60s --seed 7
  skyring link --listen 127.0.0.1:9900 --target 127.0.0.1:9899 --delay 300ms --to-target loss=0.05,rate=64000`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return options.run(cmd) },
	}
	options.register(cmd)
	endsOnHangup(cmd)

	return cmd
}

func (o *linkOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "", "UDP address, numeric HOST:PORT, that clients send to; port 0: a free one")
	flags.StringVar(&o.target, "target", "", "UDP address, numeric HOST:PORT, that their packets go on to")
	directionFlags(cmd, &o.both)
	flags.Var(&o.toTarget, "to-target", "what is different on the way to the target, such as delay=250ms,loss=0.05")
	flags.Var(&o.toClient, "to-client", "what is different on the way back")
	flags.DurationSliceVar(&o.cfg.RebindAt, "rebind", nil, "when all clients get new ports; several with commas between")
	flags.DurationVar(&o.cfg.RebindEvery, "rebind-every", 0, "have that happen again and again; 0: never")
	flags.Uint64Var(&o.cfg.Seed, "seed", o.cfg.Seed, "of all that is random")
	flags.IntVar(&o.cfg.MaxClients, "clients", o.cfg.MaxClients, "client addresses at a time; packets of more are dropped")
	flags.DurationVar(&o.cfg.ClientIdle, "client-idle", o.cfg.ClientIdle, "how long a client may be silent before its port is given back")
}

// directionFlags are those of one way. Their usages complete the sentence "it is the".
func directionFlags(cmd *cobra.Command, d *link.Direction) {
	flags := cmd.Flags()
	flags.DurationVar(&d.Delay, "delay", d.Delay, "time that a packet takes, one way")
	flags.DurationVar(&d.Jitter, "jitter", d.Jitter, "most that this time varies by, more or less")
	flags.Float64Var(&d.Loss, "loss", d.Loss, "share of packets that are lost, 0 to 1")
	flags.Float64Var(&d.Duplicate, "duplicate", d.Duplicate, "share of packets that arrive twice, 0 to 1")
	flags.Float64Var(&d.Reorder, "reorder", d.Reorder, "share of packets that are late, 0 to 1")
	flags.DurationVar(&d.ReorderBy, "reorder-by", d.ReorderBy, "time that these are late by")
	flags.Var((*outages)(&d.Outages), "outage", "time from which, and for how long, all is lost: 30s+10s; several with commas between")
	flags.Int64Var(&d.Rate, "rate", d.Rate, "bits a second that pass one way; 0: any number")
	flags.IntVar(&d.Queue, "queue", d.Queue, "bytes that may wait when --rate is too little")
}

func (o *linkOptions) run(cmd *cobra.Command) error {
	if err := o.complete(); err != nil {
		return err
	}

	log := newLogger(DefaultLogConfig(), cmd.ErrOrStderr())

	emulator, err := link.New(o.cfg, log)
	if err != nil {
		return portTaken(err, moveStations)
	}

	log.Info().Stringer("listen", emulator.Addr()).Stringer("target", o.cfg.Target).Uint64("seed", o.cfg.Seed).Msg("link is up")

	if err := emulator.Run(cmd.Context()); err != nil {
		return err
	}

	return emulator.Stats().WriteText(cmd.OutOrStdout())
}

// complete makes the configuration out of the flags.
func (o *linkOptions) complete() error {
	for name, text := range map[string]string{"--listen": o.listen, "--target": o.target} {
		if text == "" {
			return usagef("%s HOST:PORT is missing: clients send to --listen, and their packets go on to --target", name)
		}
	}

	var err error
	if o.cfg.Listen, err = parseAddress("--listen", o.listen); err != nil {
		return err
	}

	if o.cfg.Target, err = parseAddress("--target", o.target); err != nil {
		return err
	}

	o.cfg.Both(o.both)

	if err := o.toTarget.apply("--to-target", &o.cfg.ToTarget); err != nil {
		return err
	}

	if err := o.toClient.apply("--to-client", &o.cfg.ToClient); err != nil {
		return err
	}

	if err := o.cfg.Validate(); err != nil {
		return usagef("the link is wrong:\n%w", err)
	}

	return nil
}

// terms is a flag that changes a direction: pairs key=value, separated by commas.
type terms struct{ pairs []string }

// String lists the pairs.
func (t *terms) String() string { return strings.Join(t.pairs, ",") }

// Set adds pairs; they are read when all flags are known.
func (t *terms) Set(text string) error {
	t.pairs = append(t.pairs, strings.Split(text, ",")...)

	return nil
}

// Type is the word for the value in --help.
func (t *terms) Type() string { return "KEY=VALUE,..." }

// apply changes d; flag is what the pairs were given by. Outages replace those that hold for both ways.
func (t *terms) apply(flag string, d *link.Direction) error {
	keys := &cobra.Command{}
	directionFlags(keys, d)

	if slices.ContainsFunc(t.pairs, func(pair string) bool { return strings.HasPrefix(pair, "outage=") }) {
		d.Outages = nil
	}

	for _, pair := range t.pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return usagef("%s: %q: a key and a value are right, such as loss=0.05", flag, pair)
		}

		known := keys.Flags().Lookup(key)
		if known == nil {
			return usagef("%s: %q: delay, jitter, loss, duplicate, reorder, reorder-by, outage, rate and queue are right", flag, key)
		}

		if known.Value.Set(value) != nil {
			return usagef("%s: %s: %q is none: it is the %s", flag, key, value, known.Usage)
		}
	}

	return nil
}

// outages is a flag that holds times without a link: FROM+FOR, separated by commas.
type outages []link.Outage

// String lists them.
func (o *outages) String() string {
	text := make([]string, len(*o))
	for i, one := range *o {
		text[i] = one.From.String() + "+" + one.For.String()
	}

	return strings.Join(text, ",")
}

// Set adds some.
func (o *outages) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		from, lasts, _ := strings.Cut(one, "+")
		begin, err1 := time.ParseDuration(from)
		length, err2 := time.ParseDuration(lasts)

		if err1 != nil || err2 != nil {
			return fmt.Errorf("%q: FROM+FOR is right, such as 30s+10s: after 30 s, for 10 s", one)
		}

		*o = append(*o, link.Outage{From: begin, For: length})
	}

	return nil
}

// Type is the word for the value in --help.
func (o *outages) Type() string { return "FROM+FOR" }
