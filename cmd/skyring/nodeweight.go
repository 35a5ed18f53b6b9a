package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
)

func weightCommand() *cobra.Command {
	var (
		options operatorOptions
		now     bool
	)

	cmd := &cobra.Command{
		Use:   "weight ID CAPACITY",
		Short: "change the capacity of a processor, its share of the ring, while it runs",
		Long: `CAPACITY is how many messages a second the processor sustains; 'skyring processor --calibrate' measures it.
Its share of the ring follows, so each change moves stations to other processors: the processor goes there in steps,
by a tenth of its capacity at most (processor.capacityStep), once in ten minutes (processor.capacityInterval), and the
answer says how long that takes. --now does it at once.

Redis keeps it over restarts, until the configured capacity is changed: that is the newer decision then.`,
		Example: `  skyring node weight p1 4000
  skyring node weight p1 500 --now`,
		Args: exactArgs(2, "ID or CAPACITY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := bus.ValidateID(args[0]); err != nil {
				return &usageError{err: err}
			}

			capacity, err := strconv.ParseUint(args[1], 10, 32)
			if err != nil || capacity == 0 {
				return usagef("CAPACITY is %q: a number of messages a second from 1 to %d is right", args[1], uint32(math.MaxUint32))
			}

			request := bus.NodeRequest{Administration: bus.Weigh, Capacity: uint32(capacity)}
			if now {
				request.Administration = bus.WeighNow
			}

			return options.run(cmd, func(ctx context.Context, by *operator) error {
				ctx, cancel := context.WithTimeout(ctx, options.timeout)
				defer cancel()

				return weigh(ctx, cmd, &administration{operator: by, act: request.Administration, id: args[0], out: cmd.OutOrStdout()}, request)
			})
		},
	}
	options.register(cmd, 10*time.Second, "give up after this long")
	cmd.Flags().BoolVar(&now, "now", false, "at once: the share of stations that this moves is warned of")

	return cmd
}

// weigh warns of what moves at once, asks the node, and tells how long it takes.
func weigh(ctx context.Context, cmd *cobra.Command, a *administration, request bus.NodeRequest) error {
	if request.Administration == bus.WeighNow {
		s, err := a.survey(ctx, nodePatience)
		if err != nil {
			return err
		}

		if share := s.moves(a.id, request.Capacity); share > 0 {
			if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "warning: this moves about %.1f %% of the stations to other processors at once\n", 100*share); err != nil {
				return err
			}
		}
	}

	status, err := a.ask(ctx, request)
	if err != nil {
		return err
	}

	if status.CapacityTarget != request.Capacity {
		return errors.New(a.id + " does not know how to change its capacity: is it of an older version?")
	}

	_, err = fmt.Fprintln(a.out, weightSentence(status))

	return err
}

// weightSentence tells what a node announces and what it goes to.
func weightSentence(n *bus.NodeStatus) string {
	text := fmt.Sprintf("%s announces a capacity of %d messages a second", n.ID, n.Capacity)
	if n.CapacitySteps == 0 {
		return text
	}

	steps := "steps"
	if n.CapacitySteps == 1 {
		steps = "step"
	}

	return fmt.Sprintf("%s and goes to %d: %d %s in %s", text, n.CapacityTarget, n.CapacitySteps, steps,
		time.Duration(n.CapacitySeconds*float64(time.Second)).Round(time.Second))
}

// moves is which share of the stations another capacity of a node moves, 0 to 1: the difference of the node's shares of the
// ring, of which it gains or loses no more than its part. Nodes that no dispatcher has on its ring do not count.
func (s *survey) moves(id string, capacity uint32) float64 {
	var all, own float64

	for _, other := range s.ids() {
		var on float64

		for _, v := range s.views(other) {
			if v.Status != "dead" && v.Status != "left" {
				on = max(on, float64(v.Capacity))
			}
		}

		all += on
		if other == id {
			own = on
		}
	}

	if own == 0 {
		return 0
	}

	return math.Abs(float64(capacity)/(all-own+float64(capacity)) - own/all)
}
