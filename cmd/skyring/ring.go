package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
	"skyring/ring"
)

func ringCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ring",
		Short: "the ring of nodes: shares, what a change would move, why a key goes where it goes",
		Long: `Shows the ring that dispatchers have, or one of nodes that are named with --nodes. All dispatchers of the same nodes
have the same ring, so what is shown here is what they do.`,
	}
	cmd.AddCommand(ringShowCommand(), ringPreviewCommand(), ringExplainCommand())

	return cmd
}

// ringOptions say which ring is meant.
type ringOptions struct {
	operator operatorOptions
	nodes    nodeList
	config   ring.Config
	asJSON   bool
}

func (o *ringOptions) register(cmd *cobra.Command) {
	o.config = ring.DefaultConfig()
	flags := cmd.Flags()
	flags.Var(&o.nodes, "nodes", "nodes as ID=CAPACITY, several separated by commas, at most 65535; none given: those of a running dispatcher")
	flags.Uint8Var(&o.config.Bits, "bits", o.config.Bits, "with --nodes: the ring has 2^bits slots")
	flags.Float64Var(&o.config.Epsilon, "epsilon", o.config.Epsilon, "with --nodes: slots over the fair share (0 none, 0.01 one percent, negative any number)")
	flags.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	o.operator.register(cmd, 2*time.Second, "wait at most this long for answers, and for NATS")
}

// ringSource is a ring with what is known of its nodes.
type ringSource struct {
	dispatcher string // it is from, empty: made here
	policy     string // that dispatcher's
	config     ring.Config
	nodes      []ring.Node
	views      map[string]bus.NodeView // by node, as the dispatcher sees it
}

// with finds the ring that is meant and calls do; by is nil where nobody was asked.
func (o *ringOptions) with(cmd *cobra.Command, do func(ctx context.Context, by *operator, s *ringSource) error) error {
	if len(o.nodes) > 0 {
		s := &ringSource{config: o.config, nodes: o.nodes}
		if _, err := s.build(); err != nil {
			return &usageError{err: err}
		}

		return do(cmd.Context(), nil, s)
	}

	for _, name := range []string{"bits", "epsilon"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s needs --nodes: a running dispatcher has a configuration of its own", name)
		}
	}

	return o.operator.run(cmd, func(ctx context.Context, by *operator) error {
		s, err := by.ring(ctx, o.operator.timeout)
		if err != nil {
			return err
		}

		return do(ctx, by, s)
	})
}

// ring asks for the ring of the dispatchers.
func (o *operator) ring(ctx context.Context, limit time.Duration) (*ringSource, error) {
	s, err := o.survey(ctx, limit)
	if err == nil && s.disagreement() != nil {
		s, err = o.surveyAgain(ctx, limit)
	}

	switch {
	case err != nil:
		return nil, err
	case len(s.dispatchers) == 0:
		return nil, fmt.Errorf("%w\n--nodes ID=CAPACITY,... shows the ring of nodes that you name", o.nobody("dispatcher"))
	case s.disagreement() != nil:
		return nil, fmt.Errorf("%w: 'skyring status' shows them", s.disagreement())
	}

	return newRingSource(s.dispatchers[0]), nil
}

// newRingSource is the ring that a dispatcher has.
func newRingSource(d *bus.DispatcherStatus) *ringSource {
	s := &ringSource{
		dispatcher: d.ID, policy: d.Policy, views: map[string]bus.NodeView{},
		config: ring.Config{Bits: d.RingBits, Epsilon: d.RingEpsilon},
	}

	for _, v := range d.Nodes {
		if v.Share > 0 || v.Status == "open" || v.Status == "at-limit" || v.Status == "draining" {
			s.nodes = append(s.nodes, ring.Node{ID: v.ID, Capacity: v.Capacity})
			s.views[v.ID] = v
		}
	}

	return s
}

// build builds the ring, with states and loads as far as they are known.
func (s *ringSource) build() (*ring.Ring, error) {
	r, err := ring.Build(s.nodes, s.config)
	if err != nil {
		return nil, err
	}

	for i := range r.Len() {
		v, known := s.views[r.Node(i).ID]
		if !known {
			continue
		}

		r.SetState(i, stateOf(v.Status))
		hardCap := uint32(math.MaxUint32)
		if v.HardCap > 0 {
			hardCap = uint32(v.HardCap) //nolint:gosec // a count of messages
		}

		r.SetLoad(i, uint32(v.InFlight), uint32(v.Limit), hardCap) //nolint:gosec // counts of messages
		r.SetPressure(i, 1-v.Weight)
	}

	return r, nil
}

// stateOf is the state of a node by the word for it.
func stateOf(status string) ring.State {
	for _, s := range []ring.State{ring.Open, ring.AtLimit} {
		if s.String() == status {
			return s
		}
	}

	return ring.Ineligible
}

// nodeList is a flag that holds nodes as id=capacity, separated by commas.
type nodeList []ring.Node

// String lists the nodes.
func (l *nodeList) String() string {
	var text []string
	for _, n := range *l {
		text = append(text, n.ID+"="+strconv.FormatUint(uint64(n.Capacity), 10))
	}

	return strings.Join(text, ",")
}

// Set adds nodes, no more than a ring can have; a capacity that is left out is 1000.
func (l *nodeList) Set(text string) error {
	known := make(map[string]bool, len(*l))
	for _, n := range *l {
		known[n.ID] = true
	}

	for one := range strings.SplitSeq(text, ",") {
		id, capacity, given := strings.Cut(strings.TrimSpace(one), "=")
		if !given {
			capacity = "1000"
		}

		if err := bus.ValidateID(id); err != nil {
			return fmt.Errorf("%q: %w", one, err)
		}

		n, err := strconv.ParseUint(capacity, 10, 32)
		if err != nil || n == 0 {
			return fmt.Errorf("%q: the capacity must be a number from 1 to 4294967295, as in p1=1000", one)
		}

		if known[id] {
			return fmt.Errorf("node %s is there twice", id)
		}

		if len(*l) == ring.MaxNodes {
			return fmt.Errorf("these are more nodes than the %d that a ring can have", ring.MaxNodes)
		}

		known[id] = true

		*l = append(*l, ring.Node{ID: id, Capacity: uint32(n)})
	}

	return nil
}

// Type is the word for the value in --help.
func (l *nodeList) Type() string { return "ID=CAPACITY,..." }
