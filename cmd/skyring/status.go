package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
)

func statusCommand() *cobra.Command {
	var (
		options operatorOptions
		asJSON  bool
	)

	cmd := &cobra.Command{
		Use:   "status",
		Short: "what dispatchers and processors are doing",
		Long: `Asks all dispatchers and processors of the namespace over NATS and shows their load, the nodes as
dispatchers see them, whether all dispatchers have the same ring and policy, and alarms.

It fails when no dispatcher or no processor answers, and when dispatchers have different policies, or different rings
for longer than a heartbeat. Alarms alone do not make it fail.

Without --nats it takes the NATS of the configuration, or that of a running 'skyring up' on this machine.`,
		Example: `  skyring status
  skyring status --json --nats nats://10.0.0.5:4222`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return options.run(cmd, func(ctx context.Context, by *operator) error {
				return showStatus(ctx, cmd.OutOrStdout(), by, options.timeout, asJSON)
			})
		},
	}
	options.register(cmd, 2*time.Second, "wait at most this long for answers, and for NATS")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")

	return cmd
}

func showStatus(ctx context.Context, w io.Writer, by *operator, timeout time.Duration, asJSON bool) error {
	s, err := by.survey(ctx, timeout)
	if err == nil && s.disagreement() != nil {
		s, err = by.surveyAgain(ctx, timeout)
	}

	if err != nil {
		return err
	}

	r := newReport(by.namespace, s)
	if asJSON {
		err = json.NewEncoder(w).Encode(r)
	} else {
		err = r.print(w)
	}

	return errors.Join(err, by.judge(s))
}

// surveyAgain asks once more after a heartbeat and a half, in which every dispatcher
// has heard of a change of the nodes.
func (o *operator) surveyAgain(ctx context.Context, limit time.Duration) (*survey, error) {
	wait := time.NewTimer(o.config.Dispatcher.Heartbeat * 3 / 2)
	defer wait.Stop()

	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return o.survey(ctx, limit)
	}
}

// judge is what makes the command fail.
func (o *operator) judge(s *survey) error {
	var faults []error

	if len(s.dispatchers) == 0 {
		faults = append(faults, o.nobody("dispatcher"))
	}

	if len(s.nodes) == 0 {
		faults = append(faults, o.nobody("processor"))
	}

	return errors.Join(append(faults, s.disagreement())...)
}

// report is a survey as it is shown, and as --json promises it to other programs.
type report struct {
	Namespace   bus.Namespace           `json:"namespace"`
	Ring        ringReport              `json:"ring"`
	Dispatchers []*bus.DispatcherStatus `json:"dispatchers"`
	Nodes       []nodeReport            `json:"nodes"`
	Alarms      []alarmReport           `json:"alarms"`
}

type ringReport struct {
	Agreed    bool      `json:"agreed"`    // all dispatchers have the same, and the same policy
	Policies  []string  `json:"policies"`  // that dispatchers pick nodes by
	Checksums []bus.Hex `json:"checksums"` // those that there are; 0: no ring yet
}

func newRingReport(s *survey) ringReport {
	return ringReport{
		Agreed: s.disagreement() == nil, Policies: append([]string{}, s.policies()...), Checksums: append([]bus.Hex{}, s.checksums()...),
	}
}

// exists tells that some dispatcher picks by a ring.
func (r *ringReport) exists() bool {
	return slices.ContainsFunc(r.Checksums, func(sum bus.Hex) bool { return sum != 0 })
}

type nodeReport struct {
	bus.NodeStatus

	Answers bool                    `json:"answers"` // the node itself; else its own values are zero
	Share   float64                 `json:"share"`   // of the ring, 0 to 1; the largest that a dispatcher says
	Seen    map[string]bus.NodeView `json:"seen"`    // by dispatcher
}

type alarmReport struct {
	From string `json:"from"`
	Text string `json:"text"`
}

func newReport(namespace bus.Namespace, s *survey) *report {
	r := &report{
		Namespace: namespace, Ring: newRingReport(s),
		Dispatchers: append([]*bus.DispatcherStatus{}, s.dispatchers...), Nodes: []nodeReport{}, Alarms: []alarmReport{},
	}

	for _, d := range s.dispatchers {
		for _, text := range d.Alarms {
			r.Alarms = append(r.Alarms, alarmReport{"dispatcher " + d.ID, text})
		}
	}

	for _, id := range s.ids() {
		n := nodeReport{NodeStatus: bus.NodeStatus{ID: id}, Seen: s.views(id)}
		if own := s.node(id); own != nil {
			n.NodeStatus, n.Answers = *own, true
		}

		for _, v := range n.Seen {
			n.Share = max(n.Share, v.Share)
			if !n.Answers {
				n.Capacity = v.Capacity
			}
		}

		for _, text := range n.Alarms {
			r.Alarms = append(r.Alarms, alarmReport{"node " + id, text})
		}

		r.Nodes = append(r.Nodes, n)
	}

	return r
}

// state is the word for what a node is: its own, unless a dispatcher sees it otherwise.
func (n *nodeReport) state() string {
	own := n.State
	if own == bus.Ready.String() {
		own = "open"
	}

	for _, d := range sortedKeys(n.Seen) {
		if seen := n.Seen[d].Status; seen != own {
			if !n.Answers {
				return seen
			}

			return fmt.Sprintf("%s (%s: %s)", own, d, seen)
		}
	}

	return own
}
