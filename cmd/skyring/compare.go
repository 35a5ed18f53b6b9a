package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"skyring/testbed/compare"
	"skyring/testbed/realrun"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	scenario string
	settings compare.Settings
	list     bool
	real     bool
	asJSON   bool
	quiet    bool
}

// smallestScale leaves the shortest scenario a hundred messages or so a run.
const smallestScale = 0.001

func compareCommand() *cobra.Command {
	options := compareOptions{settings: compare.Settings{Seeds: compare.DefaultSeeds, Scale: 1}}

	cmd := &cobra.Command{
		Use:   "compare",
		Short: "simulate picking algorithms on the same load, and judge what is published of them",
		Long: `Simulates dispatchers in front of nodes, event by event, with each of the scenario's policies on the same load, and shows
response, throughput, evenness, how often a station stays on its node, and what was shed, as means over seeds with 95 %
intervals. Then it says of each published claim whether it was reproduced, refuted, or cannot be decided, and why.

Responses are in mean service times. Each policy is charged what a pick of it costs on this machine, measured in the same run;
--pick-cost fixes that, so that results are the same everywhere. --real runs the scenario small in real time, with real processors, NATS and Redis,
and says how far the simulation was from it; it wants an idle machine and takes some minutes. docs/policies.md explains the policies and the findings.`,
		Example: `  skyring compare --list
  skyring compare --scenario paper
  skyring compare --scenario z-curve --seeds 20 --json
  skyring compare --scenario small --real`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return options.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&options.scenario, "scenario", "", "the load, see --list")
	flags.BoolVar(&options.list, "list", false, "list the scenarios")
	flags.IntVar(&options.settings.Seeds, "seeds", options.settings.Seeds, "runs of each row, at least 2")
	flags.BoolVar(&options.real, "real", false, "run it on real processors too, and compare; only for small")
	flags.Float64Var(&options.settings.Scale, "scale", options.settings.Scale, "times the simulated time of each run, 0.001 to 100, for a quick look")
	flags.Float64Var(&options.settings.PickCost, "pick-cost", 0, "nanoseconds that a pick costs, whatever the policy; 0: as measured; negative: nothing")
	flags.BoolVar(&options.asJSON, "json", false, "print a JSON object a row, with the claims about its policy")
	flags.BoolVarP(&options.quiet, "quiet", "q", false, "no progress")
	endsOnHangup(cmd)

	return cmd
}

func (o *compareOptions) run(cmd *cobra.Command) error {
	switch {
	case o.list && o.scenario != "":
		return usagef("--list and --scenario do not go together")
	case o.settings.Seeds == 0: // to package compare these two zeros are defaults
		return usagef("--seeds is 0: at least 2 are right")
	case o.settings.Scale >= 0 && o.settings.Scale < smallestScale:
		return usagef("--scale is %v: %v to 100 is right; a shorter run has too few messages to measure anything", o.settings.Scale, smallestScale)
	case o.list:
		return o.printList(cmd.OutOrStdout())
	case o.scenario == "":
		return usagef("--scenario is missing: 'skyring compare --list' shows which there are")
	}

	if o.real {
		return o.runReal(cmd)
	}

	bar := o.progress(cmd.ErrOrStderr())

	report, err := compare.RunWith(cmd.Context(), o.scenario, o.settings, bar)

	switch {
	case cmd.Context().Err() != nil:
		return errors.New("interrupted: there is no result")
	case err != nil:
		return &usageError{err: err}
	case o.asJSON:
		return printLines(cmd.OutOrStdout(), report.Rows)
	default:
		return report.Text(cmd.OutOrStdout())
	}
}

// runReal compares the simulation with a real run.
func (o *compareOptions) runReal(cmd *cobra.Command) (err error) {
	cfg := realrun.DefaultConfig()
	if o.scenario != cfg.Scenario {
		return usagef("--real needs --scenario %s: the others have events, bursts or users who wait, which a real run does not play", cfg.Scenario)
	}

	if cmd.Flags().Changed("seeds") {
		cfg.Seeds = o.settings.Seeds
	}

	dir, err := temporaryDir(os.TempDir(), "skyring-real-", time.Now())
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, dir.remove()) }()

	cfg.Dir = dir.path

	logs := DefaultLogConfig()
	if o.quiet {
		logs.Level = zerolog.ErrorLevel.String()
	}

	result, err := realrun.Run(cmd.Context(), cfg, newLogger(logs, cmd.ErrOrStderr()))

	switch {
	case cmd.Context().Err() != nil:
		return errors.New("interrupted: there is no result")
	case err != nil:
		return err
	case o.asJSON:
		return printLines(cmd.OutOrStdout(), result.Rows())
	default:
		return result.Text(cmd.OutOrStdout())
	}
}

func (o *compareOptions) printList(w io.Writer) error {
	all := compare.List()
	if o.asJSON {
		return printLines(w, all)
	}

	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "SCENARIO\tLOAD\tCLAIMS OF")

	for _, s := range all {
		_, printErr := fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Summary, s.Source)
		err = errors.Join(err, printErr)
	}

	return errors.Join(err, table.Flush())
}

// progress returns a bar where w is a terminal, else nothing.
func (o *compareOptions) progress(w io.Writer) compare.Progress {
	file, ok := w.(*os.File)
	if !ok || o.quiet || !isTerminal(file) {
		return nil
	}

	var bar *progressbar.ProgressBar

	return func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("runs"),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
		}

		_ = bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
}

// printLines prints each item as a line of JSON.
func printLines[T any](w io.Writer, items []T) error {
	lines := json.NewEncoder(w)

	for i := range items {
		if err := lines.Encode(&items[i]); err != nil {
			return err
		}
	}

	return nil
}
