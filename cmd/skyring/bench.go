package main

import (
	"errors"

	"github.com/spf13/cobra"

	"skyring/testbed/ringbench"
)

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "measure parts of the system on this machine",
		Long: `Measures parts of the system on this machine, interleaved with what they are compared with, so that the ratios can be
read although a machine is shared and noisy. docs/benchmarks.md has figures and how they were made.`,
	}
	cmd.AddCommand(benchRingCommand())
	cmd.AddCommand(benchSCTPCommand())

	for _, one := range cmd.Commands() {
		endsOnHangup(one)
	}

	return cmd
}

func benchRingCommand() *cobra.Command {
	var (
		options ringbench.Options
		asJSON  bool
	)

	cmd := &cobra.Command{
		Use:   "ring",
		Short: "look-ups, shares, movement and building of the ring",
		Long: `Measures the ring at 16, 64 and 1,000 nodes: the time of a look-up from a key's bytes to its node (median of interleaved
rounds), allocations, evenness, what moves when a node leaves or joins as a multiple of what must, and the time to build.
skyring is the ring as dispatchers have it, skyring-1pct one of 2^20 slots and epsilon 0.01, skyring-saturated one whose nodes are all
at their limit. 'make bench-ring' puts other projects' ways to place keys beside it.`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Rounds < 1 {
				return usagef("--rounds is %d: at least 1 is right", options.Rounds)
			}

			rows, err := ringbench.Run(cmd.Context(), options)

			switch {
			case cmd.Context().Err() != nil:
				return errors.New("interrupted: there is no result")
			case err != nil:
				return &usageError{err: err}
			case asJSON:
				return printLines(cmd.OutOrStdout(), rows)
			default:
				return ringbench.Print(cmd.OutOrStdout(), rows, "skyring")
			}
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&options.Nodes, "nodes", []int{16, 64, 1000}, "numbers of nodes")
	flags.IntVar(&options.Rounds, "rounds", 15, "timed rounds of look-ups")
	flags.BoolVar((*bool)(&options.KeepRounds), "raw", false, "with --json: also each round")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object a row")

	return cmd
}
