package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
	"skyring/ring"
)

func ringShowCommand() *cobra.Command {
	var (
		options ringOptions
		picture string
		may     overwriting
	)

	cmd := &cobra.Command{
		Use:   "show",
		Short: "the nodes of the ring and their shares, also as a picture",
		Example: `  skyring ring show
  skyring ring show --nodes p1=1000,p2=1000,p3=2000 -o ring.svg`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return options.with(cmd, func(_ context.Context, _ *operator, s *ringSource) error {
				r, err := s.build()
				if err != nil {
					return err
				}

				view := newRingView(s, r)

				return errors.Join(view.write(cmd.OutOrStdout(), options.asJSON), view.draw(picture, may, r))
			})
		},
	}
	options.register(cmd)
	forceFlag(cmd, &may)
	cmd.Flags().StringVarP(&picture, "output", "o", "", "write a picture of the ring to this SVG file")

	return cmd
}

// ringView is a ring as it is shown, and as --json promises it.
type ringView struct {
	Dispatcher string         `json:"dispatcher,omitempty"` // whose it is
	Policy     string         `json:"policy,omitempty"`     // that this dispatcher picks by
	Bits       uint8          `json:"bits"`
	Epsilon    float64        `json:"epsilon"`
	Slots      int            `json:"slots"`
	Checksum   bus.Hex        `json:"checksum"`
	MaxFair    float64        `json:"maxFair"` // the largest share over its fair one
	Nodes      []ringNodeView `json:"nodes"`
}

type ringNodeView struct {
	ID       string  `json:"id"`
	State    string  `json:"state"`
	Capacity uint32  `json:"capacity"`
	Slots    int     `json:"slots"`
	Share    float64 `json:"share"` // 0 to 1
	Fair     float64 `json:"fair"`  // its part of the sum of capacities
}

func newRingView(s *ringSource, r *ring.Ring) *ringView {
	v := &ringView{
		Dispatcher: s.dispatcher, Policy: s.policy, Bits: s.config.Bits, Epsilon: s.config.Epsilon,
		Slots: r.Slots(), Checksum: bus.Hex(r.Checksum()), Nodes: []ringNodeView{},
	}

	total := 0.0
	for i := range r.Len() {
		total += float64(r.Node(i).Capacity)
	}

	for i := range r.Len() {
		n := r.Node(i)
		one := ringNodeView{
			ID: n.ID, State: r.State(i).String(), Capacity: n.Capacity, Slots: r.Share(i),
			Share: float64(r.Share(i)) / float64(r.Slots()), Fair: float64(n.Capacity) / total,
		}

		if seen, known := s.views[n.ID]; known {
			one.State = seen.Status
		}

		v.MaxFair = max(v.MaxFair, one.Share/one.Fair)
		v.Nodes = append(v.Nodes, one)
	}

	return v
}

func (v *ringView) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(v)
	}

	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "NODE\tSTATE\tCAPACITY\tSLOTS\tSHARE\tFAIR")

	for _, n := range v.Nodes {
		_, printErr := fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%.3f %%\t%.3f %%\n", n.ID, n.State, n.Capacity, n.Slots, 100*n.Share, 100*n.Fair)
		err = errors.Join(err, printErr)
	}

	err = errors.Join(err, table.Flush())

	_, printErr := fmt.Fprintf(w, "\n%d slots, epsilon %v, checksum %s, largest share %.4f of the fair one\n", v.Slots, v.Epsilon, v.Checksum, v.MaxFair)
	err = errors.Join(err, printErr)

	if v.Policy != "" && v.Policy != "skyring" {
		_, printErr := fmt.Fprintf(w, "dispatcher %s picks by policy %s: the ring is what it would have\n", v.Dispatcher, v.Policy)
		err = errors.Join(err, printErr)
	}

	return err
}

// draw writes the picture to a file; nothing where none is named.
func (v *ringView) draw(file string, may overwriting, r *ring.Ring) error {
	if file == "" {
		return nil
	}

	f, err := createFile("--output", file, may)
	if err != nil {
		return err
	}

	p := picture{w: f, view: v, ring: r}
	p.draw()

	if err := errors.Join(p.err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}

	return nil
}
