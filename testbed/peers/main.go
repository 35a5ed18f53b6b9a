package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"skyring/testbed/ringbench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)

	stop()

	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1) //nolint:forbidigo // main of a command of its own module
	}
}

// run measures, then writes rows to stdout and the table to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)

	numbers := flags.String("nodes", "16,64,1000", "numbers of nodes")
	rounds := flags.Int("rounds", 25, "timed rounds of look-ups")
	builds := flags.Int("builds", 3, "timed builds; slow ones are made once")
	lookups := flags.Int("lookups", 1<<15, "look-ups a round")
	counted := flags.Int("keys", 1<<20, "keys counted for evenness and movement")
	only := flags.String("only", "", "names of candidates, separated by commas; all when empty")
	raw := flags.Bool("raw", false, "keep each round in the rows")

	if err := flags.Parse(args); err != nil {
		return err
	}

	nodes, err := parseNodes(*numbers)
	if err != nil {
		return err
	}

	candidates, err := choose(*only)
	if err != nil {
		return err
	}

	rows, err := ringbench.Run(ctx, ringbench.Options{
		Candidates: candidates,
		Nodes:      nodes,
		Rounds:     *rounds,
		Builds:     *builds,
		Lookups:    *lookups,
		Keys:       *counted,
		KeepRounds: ringbench.RoundsKept(*raw),
	})
	if err != nil {
		return err
	}

	encoder := json.NewEncoder(stdout)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			return fmt.Errorf("write rows: %w", err)
		}
	}

	return ringbench.Print(stderr, rows, ringbench.Ours()[0].Name)
}

// choose returns the candidates of a list of names.
func choose(names string) ([]ringbench.Candidate, error) {
	all := slices.Concat(ringbench.Ours(), peers())
	if names == "" {
		return all, nil
	}

	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}

	var out []ringbench.Candidate

	for name := range strings.SplitSeq(names, ",") {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("-only %s: %q is no candidate: %s are", names, name, strings.Join(known, ", "))
		}

		out = append(out, all[i])
	}

	return out, nil
}

func parseNodes(list string) ([]int, error) {
	var out []int

	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return nil, fmt.Errorf("-nodes %s: %q is no number: want some such as 16,1000", list, field)
		}

		out = append(out, n)
	}

	return out, nil
}
