package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"skyring/ring"
)

func ringPreviewCommand() *cobra.Command {
	var (
		options ringOptions
		change  ringChange
	)

	cmd := &cobra.Command{
		Use:   "preview",
		Short: "what share of the keys a change of nodes would move, before it is made",
		Long: `Builds the ring as it is and as it would be, and compares them slot by slot: which share of all keys (and so
of stations) would have another node, and how much of that no algorithm could avoid. It changes nothing. Keys that move
lose nothing: their sessions are in Redis; the new node loads them once.`,
		Example: `  skyring ring preview --add p5=1000
  skyring ring preview --nodes p1=1000,p2=1000,p3=1000 --remove p2 --weight p1=1500`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return options.with(cmd, func(_ context.Context, _ *operator, s *ringSource) error {
				after, err := change.apply(s)
				if err != nil {
					return &usageError{err: err}
				}

				return preview(cmd.OutOrStdout(), s, after, options.asJSON)
			})
		},
	}
	options.register(cmd)
	cmd.Flags().Var(&change.add, "add", "nodes that would come, as ID=CAPACITY, separated by commas")
	cmd.Flags().StringSliceVar(&change.remove, "remove", nil, "nodes that would go, separated by commas")
	cmd.Flags().Var(&change.weight, "weight", "nodes that would have another capacity, as ID=CAPACITY, separated by commas")

	return cmd
}

// ringChange is a change of the nodes.
type ringChange struct {
	add, weight nodeList
	remove      []string
}

// apply returns the ring after the change. The error says what does not fit.
func (c *ringChange) apply(s *ringSource) (*ringSource, error) {
	if len(c.add)+len(c.weight)+len(c.remove) == 0 {
		return nil, errors.New("what would change? --add ID=CAPACITY, --remove ID and --weight ID=CAPACITY say it")
	}

	at := make(map[string]int, len(s.nodes)) // of each node that is in
	for i, n := range s.nodes {
		at[n.ID] = i
	}

	after := &ringSource{config: s.config, nodes: slices.Clone(s.nodes)}
	weighed := make(map[string]bool, len(c.weight))

	var faults []error

	for _, n := range c.weight {
		weighed[n.ID] = true

		if i, in := at[n.ID]; in {
			after.nodes[i].Capacity = n.Capacity
		} else {
			faults = append(faults, s.absent("--weight", n.ID))
		}
	}

	for _, id := range c.remove {
		_, in := at[id]

		switch {
		case weighed[id]:
			faults = append(faults, fmt.Errorf("--remove %s: --weight changes this node; it cannot go, too", id))
		case !in:
			faults = append(faults, s.absent("--remove", id))
		default:
			delete(at, id)
		}
	}

	after.nodes = slices.DeleteFunc(after.nodes, func(n ring.Node) bool {
		_, in := at[n.ID]

		return !in
	})

	for _, n := range c.add {
		if _, in := at[n.ID]; in {
			faults = append(faults, fmt.Errorf("--add %s: the ring has this node; --weight %s=%d would change its capacity", n.ID, n.ID, n.Capacity))

			continue
		}

		after.nodes = append(after.nodes, n)
	}

	return after, firstFaults(faults)
}

// mostFaults is how many slips of the same kind are told.
const mostFaults = 20

// firstFaults joins the first of many faults.
func firstFaults(faults []error) error {
	if more := len(faults) - mostFaults; more > 0 {
		faults = append(faults[:mostFaults:mostFaults], fmt.Errorf("... and %d more", more))
	}

	return errors.Join(faults...)
}

func (s *ringSource) absent(flag, id string) error {
	var ids []string
	for _, n := range s.nodes[:min(len(s.nodes), mostFaults)] {
		ids = append(ids, n.ID)
	}

	slices.Sort(ids)

	if more := len(s.nodes) - mostFaults; more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}

	return fmt.Errorf("%s %s: the ring has no such node: there are %s", flag, id, strings.Join(ids, ", "))
}

func preview(w io.Writer, before, after *ringSource, asJSON bool) error {
	from, err := before.build()
	if err != nil {
		return err
	}

	to, err := after.build()
	if err != nil {
		return &usageError{err: err}
	}

	m := ring.Preview(from, to)
	if asJSON {
		return json.NewEncoder(w).Encode(m)
	}

	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, err = fmt.Fprintln(table, "NODE\tSHARE NOW\tSHARE THEN\tGAINS\tLOSES")

	for _, n := range m.Nodes {
		_, printErr := fmt.Fprintf(table, "%s\t%.3f %%\t%.3f %%\t%.3f %%\t%.3f %%\n", n.ID, 100*n.Before, 100*n.After, 100*n.Gained, 100*n.Lost)
		err = errors.Join(err, printErr)
	}

	_, printErr := fmt.Fprintf(table, "\n%.2f %% of all keys would move; %.2f %% have to (%.3f times as many)\n", 100*m.Moved, 100*m.Ideal, m.Ratio)

	return errors.Join(err, printErr, table.Flush())
}
