package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"skyring/protocol/key"
	"skyring/ring"
)

func ringExplainCommand() *cobra.Command {
	var (
		options ringOptions
		states  assumedStates
	)

	cmd := &cobra.Command{
		Use:   "explain KEY",
		Short: "why the messages of a key go to the node they go to",
		Long: `Shows each step of the pick for a key: its home, the nodes that were skipped and why, the one that was taken and how.
A key is written as 'skyring session list' shows it, such as pool:7; a number alone is a station's id, in hexadecimal as
for 'skyring station': 17 is station:0000000000000017.

Without --nodes each running dispatcher explains what it would do with the next message of the key: by its own counts, its
policy, and the node that the key is bound to. With --nodes all are open and idle but those that --at-limit and --ineligible name.`,
		Example: `  skyring ring explain 17
  skyring ring explain station:0000000000000017 --nodes p1=1000,p2=1000,p3=1000 --at-limit p1`,
		Args: exactArgs(1, "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := parseSessionKey(args[0])
			if err != nil {
				return &usageError{err: err}
			}

			if len(options.nodes) == 0 && len(states.atLimit)+len(states.ineligible) > 0 {
				return usagef("--at-limit and --ineligible need --nodes: a running dispatcher knows the states of its nodes")
			}

			if len(options.nodes) == 0 {
				return options.operator.run(cmd, func(ctx context.Context, by *operator) error {
					return by.explain(ctx, cmd.OutOrStdout(), k, options.operator.timeout, options.asJSON)
				})
			}

			return options.with(cmd, func(_ context.Context, _ *operator, s *ringSource) error {
				return explain(cmd.OutOrStdout(), s, k, states, options.asJSON)
			})
		},
	}
	options.register(cmd)
	cmd.Flags().StringSliceVar(&states.atLimit, "at-limit", nil, "with --nodes: nodes that are at their limit, separated by commas")
	cmd.Flags().StringSliceVar(&states.ineligible, "ineligible", nil, "with --nodes: nodes that may not be picked, separated by commas")

	return cmd
}

// parseSessionKey reads a key, or a station's id as all commands take it.
func parseSessionKey(text string) ([]byte, error) {
	k, err := key.Parse(text)
	if err == nil {
		return k, nil
	}

	if id, notStation := parseStation(text); notStation == nil {
		return key.Station(nil, uint64(id)), nil
	}

	return nil, fmt.Errorf("%q is no session key: write it as 'skyring session list' shows it, such as station:0000000000000017, or a station's id (%w)", text, err)
}

// assumedStates are nodes that are not open.
type assumedStates struct{ atLimit, ineligible []string }

// apply sets the states of nodes.
func (a *assumedStates) apply(s *ringSource, r *ring.Ring) error {
	var faults []error

	set := func(flag string, ids []string, state ring.State) {
		for _, id := range ids {
			if i, is := r.Index(id); is {
				r.SetState(i, state)
			} else {
				faults = append(faults, s.absent(flag, id))
			}
		}
	}

	for _, id := range a.atLimit {
		if slices.Contains(a.ineligible, id) {
			faults = append(faults, fmt.Errorf("--at-limit %s: --ineligible names this node, too", id))
		}
	}

	set("--at-limit", a.atLimit, ring.AtLimit)
	set("--ineligible", a.ineligible, ring.Ineligible)

	return errors.Join(faults...)
}

// explanation is what explain shows, and what --json promises.
type explanation struct {
	Key string `json:"key"`
	ring.Explanation
}

func explain(w io.Writer, s *ringSource, k []byte, states assumedStates, asJSON bool) error {
	r, err := s.build()
	if err != nil {
		return err
	}

	if err := states.apply(s, r); err != nil {
		return &usageError{err: err}
	}

	e := explanation{Key: key.Format(k), Explanation: r.Explain(ring.Query{Hash: key.Hash(k), Avoid: ring.NoNode})}
	if asJSON {
		return json.NewEncoder(w).Encode(e)
	}

	return e.print(w)
}

func (e *explanation) print(w io.Writer) error {
	lines := []string{fmt.Sprintf("key       %s, hash %016x", e.Key, e.Query.Hash)}

	met := map[string]bool{}

	for i, p := range e.Probes {
		step := "chain " + strconv.Itoa(i)
		if i == 0 {
			step = "home"
		}

		verdict := "skipped: " + p.Skip.String()

		switch {
		case p.Weight == nil && p.Skip == ring.Taken:
			verdict = "taken"
		case p.Weight != nil && met[p.ID]: // the chain is followed until it has two different ones
			verdict = "met before"
		case p.Weight != nil:
			verdict = fmt.Sprintf("open, weight %.3f", *p.Weight)
			met[p.ID] = true
		}

		lines = append(lines, fmt.Sprintf("%-9s slot %d is %s's: %s", step, p.Slot, p.ID, verdict))
	}

	if e.Spill != nil {
		lines = append(lines, fmt.Sprintf("spill     rank %d of %d slots of open nodes: %s", e.Spill.Rank, e.Spill.Of, e.Spill.ID))
	}

	for _, c := range e.Candidates {
		lines = append(lines, fmt.Sprintf("resort    %s, %s: %d in flight of %d, weight %.3f: %s", c.ID, c.State, c.InFlight, c.Limit, c.Weight, c.Skip))
	}

	verdict := "nobody takes it: it is shed, or waits"
	if e.Choice.Node != ring.NoNode {
		verdict = fmt.Sprintf("%s takes it (%s)", e.ID, e.Choice.How)
	}

	for _, line := range slices.Concat(lines, []string{"result    " + verdict}) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}

	return nil
}
