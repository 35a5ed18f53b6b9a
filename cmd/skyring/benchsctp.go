package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skyring/testbed/sctpbench"
)

// benchSCTPOptions are the flags of bench sctp.
type benchSCTPOptions struct {
	bench   sctpbench.Options
	seconds float64
	link    bool
	asJSON  bool
	raw     bool
}

func benchSCTPCommand() *cobra.Command {
	var options benchSCTPOptions

	cmd := &cobra.Command{
		Use:   "sctp",
		Short: "echoes over SCTP, beside TCP, UDP, pion and usrsctp",
		Long: `Measures echoes of 128 bytes on loopback: a single message under way, for its round trip; one association with a window of 64; and
100 associations with a window of 8. Contestants take turns, each alone while it is measured, and figures are medians of rounds.
CPU is that of both ends, the kernel's work included.

  tcp, udp          plain sockets, a pair for each association: what there is to reach
  pionStock         pion's own client and server, a pair of UDP sockets for each association
  skyring           protocol/transport at both ends, all associations between two sockets
  skyring-stations  the same, each association from a socket of its own, as stations have it
  skyring-dtls      the same over DTLS with a pre-shared key, a session for each association
  usrsctp           both ends in C, all associations between two sockets; needs a C compiler and libusrsctp-dev

--link measures instead how long 20 messages a second on each of ten associations take over a link with a round trip of 600 ms
that loses none, 1 and 5 % of the packets. --seconds is then for how long they are sent (20), and --rounds are 3
unless told otherwise: they take 22 s each.`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := options.run(cmd)
			if cmd.Context().Err() != nil {
				return errors.New("interrupted: there is no result")
			}

			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&options.bench.Rounds, "rounds", 5, "rounds of each contestant under each load")
	flags.Float64Var(&options.seconds, "seconds", 0.4, "seconds that a round takes, without its warm-up")
	flags.StringSliceVar(&options.bench.Only, "only", nil, "contestants, with commas between: "+strings.Join(sctpbench.Names(), ", "))
	flags.BoolVar(&options.link, "link", false, "measure over a link of 600 ms that loses packets")
	flags.BoolVar(&options.raw, "raw", false, "with --json: also each round")
	flags.BoolVar(&options.asJSON, "json", false, "print a JSON object a row")

	return cmd
}

func (o *benchSCTPOptions) run(cmd *cobra.Command) error {
	if o.raw && !o.asJSON {
		return usagef("--raw belongs to --json")
	}

	if !(o.seconds > 0 && o.seconds <= sctpbench.MaxDuration.Seconds()) {
		return usagef("--seconds is %v: more than 0, and at most %v, is right", o.seconds, sctpbench.MaxDuration.Seconds())
	}

	if o.bench.Rounds < 1 {
		return usagef("--rounds is %d: at least 1 is right", o.bench.Rounds)
	}

	if o.link {
		return o.runLink(cmd)
	}

	o.bench.Duration = duration(o.seconds)
	o.bench.Progress = sctpbench.Progress((&compareOptions{}).progress(cmd.ErrOrStderr()))

	if err := o.bench.Validate(); err != nil {
		return &usageError{err: err}
	}

	report, err := sctpbench.Run(cmd.Context(), o.bench)
	if err != nil {
		return err
	}

	return o.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), report)
}

func (o *benchSCTPOptions) print(stdout, stderr io.Writer, report *sctpbench.Report) error {
	for _, sentence := range report.LeftOut {
		if _, err := fmt.Fprintln(stderr, sentence); err != nil {
			return err
		}
	}

	switch {
	case !o.asJSON:
		return report.Text(stdout)
	case o.raw:
		return printLines(stdout, report.Rows)
	default:
		return printLines(stdout, report.WithoutRounds())
	}
}

func (o *benchSCTPOptions) runLink(cmd *cobra.Command) error {
	if len(o.bench.Only) > 0 {
		return usagef("--only does not go with --link, which measures skyring alone")
	}

	options := sctpbench.LinkOptions{}
	if cmd.Flags().Changed("rounds") {
		options.Rounds = o.bench.Rounds
	}

	if cmd.Flags().Changed("seconds") {
		options.Duration = duration(o.seconds)
	}

	if err := options.Validate(); err != nil {
		return &usageError{err: err}
	}

	rows, err := sctpbench.RunLink(cmd.Context(), options)

	switch {
	case err != nil:
		return err
	case !o.asJSON:
		return sctpbench.LinkText(cmd.OutOrStdout(), rows)
	case o.raw:
		return printLines(cmd.OutOrStdout(), rows)
	default:
		for i := range rows {
			rows[i].Rounds = nil
		}

		return printLines(cmd.OutOrStdout(), rows)
	}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
