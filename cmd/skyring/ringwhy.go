package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"skyring/protocol/bus"
)

// explain has every dispatcher say what it would do with the next message of a key.
func (o *operator) explain(ctx context.Context, w io.Writer, k []byte, limit time.Duration, asJSON bool) error {
	answers, err := collect[bus.Explanation](ctx, o.conn, o.namespace.Whys(), bus.Why{Key: k}.Append(nil), limit)

	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(answers) == 0:
		return fmt.Errorf("%w\n--nodes ID=CAPACITY,... explains a pick among nodes that you name", o.nobody("dispatcher"))
	}

	slices.SortFunc(answers, func(a, b *bus.Explanation) int { return cmp.Compare(a.ID, b.ID) })

	if asJSON {
		return printLines(w, answers)
	}

	for _, e := range answers {
		slices.SortFunc(e.Nodes, func(a, b bus.NodeView) int { return cmp.Compare(a.ID, b.ID) })

		if err := printWhy(w, e); err != nil {
			return err
		}
	}

	return nil
}

// printWhy shows a dispatcher's explanation to people.
func printWhy(w io.Writer, e *bus.Explanation) error {
	lines := []string{fmt.Sprintf("dispatcher %s, policy %s", e.ID, e.Policy), fmt.Sprintf("key       %s, hash %s", e.Key, e.Hash)}

	if e.Unanswered > 0 {
		lines = append(lines, fmt.Sprintf("in flight %d messages of the key are not answered; %s has some", e.Unanswered, cmp.Or(e.Node, "no node")))
	}

	if e.Binding != "" {
		lines = append(lines, "bound     to "+e.Binding)
	}

	if e.Home != "" {
		lines = append(lines, "home      "+e.Home)
	}

	for _, s := range e.Skipped {
		lines = append(lines, fmt.Sprintf("skipped   %s: %s", s.Node, s.Reason))
	}

	verdict := "nobody takes it: the message waits"
	if e.Taken != "" {
		verdict = fmt.Sprintf("%s takes it (%s)", e.Taken, e.How)
	}

	var err error

	for _, line := range append(lines, "result    "+verdict, "") {
		_, printErr := fmt.Fprintln(w, line)
		err = errors.Join(err, printErr)
	}

	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, printErr := fmt.Fprintln(table, "NODE\tSTATE\tIN FLIGHT\tLIMIT\tCPU\tMEMORY\tWEIGHT\tKEYS\tWHY NOT OPEN")
	err = errors.Join(err, printErr)

	for i := range e.Nodes {
		n := &e.Nodes[i]
		_, printErr := fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%.0f %%\t%.0f %%\t%.3f\t%d\t%s\n",
			n.ID, n.Status, n.InFlight, n.Limit, 100*n.CPU, 100*n.Memory, n.Weight, n.Keys, n.Reason)
		err = errors.Join(err, printErr)
	}

	return errors.Join(err, table.Flush())
}
