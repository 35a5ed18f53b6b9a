package ringbench

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes rows as a table for people, with each look-up as a multiple of that of the candidate named against at the same number of nodes.
func Print(w io.Writer, rows []Row, against string) error {
	base := map[int]float64{}

	for _, r := range rows {
		if r.Name == against {
			base[r.Nodes] = r.LookupNs
		}
	}

	var lines strings.Builder

	fmt.Fprintf(&lines, "nodes\tname\tlook-up ns\tx %s\tallocs\tmax/mean\t1:2:4:8\tmoved on remove\ton add\tbuild ms\t\n", against)

	for _, r := range rows {
		multiple, weighted := "-", "-"

		if of := base[r.Nodes]; of > 0 {
			multiple = fmt.Sprintf("%.2f", r.LookupNs/of)
		}

		if r.Weighted1248 != nil {
			weighted = fmt.Sprintf("%.4f", *r.Weighted1248)
		}

		fmt.Fprintf(&lines, "%d\t%s\t%.2f\t%s\t%.2f\t%.4f\t%s\t%.2f\t%.2f\t%.2f\t\n",
			r.Nodes, r.Name, r.LookupNs, multiple, r.Allocs, r.MaxMean, weighted, r.MovedRemove, r.MovedAdd, r.BuildMs)
	}

	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)

	_, err := io.WriteString(t, lines.String())
	if err := errors.Join(err, t.Flush()); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}

	return nil
}
