package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
)

const (
	nodeLook     = 200 * time.Millisecond // between two looks at a node that drains
	nodePatience = 2 * time.Second        // for the first answer at each
)

func nodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "take processors out of service and put them back, and change their capacity",
		Long: `Takes processors out of service and puts them back, and changes their capacity. Without --nats it asks at the NATS of the configuration,
or at that of a running 'skyring up' on this machine.`,
	}
	cmd.AddCommand(
		administrationCommand(bus.Drain, "take a processor out of service: it finishes what it has and gets nothing new",
			`The processor stays up and in the ring, but gets no messages until 'skyring node undrain', also after a
restart: Redis keeps it. Its sessions go on at other processors. Nothing is lost, and no session is interrupted.`),
		administrationCommand(bus.Undrain, "put a drained processor back into service", ""),
		weightCommand(),
	)

	return cmd
}

func administrationCommand(act bus.Administration, short, long string) *cobra.Command {
	var (
		options operatorOptions
		wait    bool
	)

	cmd := &cobra.Command{
		Use:     act.String() + " ID",
		Short:   short,
		Long:    long,
		Example: "  skyring node " + act.String() + " p1 --wait",
		Args:    exactArgs(1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := bus.ValidateID(args[0]); err != nil {
				return &usageError{err: err}
			}

			return options.run(cmd, func(ctx context.Context, by *operator) error {
				ctx, cancel := context.WithTimeout(ctx, options.timeout)
				defer cancel()

				a := administration{operator: by, act: act, id: args[0], out: cmd.OutOrStdout()}

				return a.run(ctx, wait)
			})
		},
	}
	options.register(cmd, time.Minute, "give up after this long")
	cmd.Flags().BoolVar(&wait, "wait", false, "show the progress until all dispatchers have done it")

	return cmd
}

// administration is one act on one node.
type administration struct {
	*operator

	act bus.Administration
	id  string
	out io.Writer
}

func (a *administration) run(ctx context.Context, wait bool) error {
	status, err := a.ask(ctx, bus.NodeRequest{Administration: a.act})
	if err != nil {
		return err
	}

	verdict := "takes messages"
	if status.Drained {
		verdict = "gets no new messages until 'skyring node undrain " + a.id + "'"
	}

	if _, err := fmt.Fprintf(a.out, "%s is %s: it %s\n", a.id, status.State, verdict); err != nil {
		return err
	}

	if wait {
		return a.await(ctx)
	}

	return nil
}

// ask has the node do something.
func (a *administration) ask(ctx context.Context, request bus.NodeRequest) (*bus.NodeStatus, error) {
	act := request.Administration

	data, err := a.conn.Request(ctx, a.namespace.Ask(a.id), request.Append(nil))
	if errors.Is(err, bus.ErrNoResponders) {
		return nil, a.unknown(ctx)
	}

	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", act, a.id, err)
	}

	reply, err := bus.DecodeJSON[bus.NodeReply](data)
	if err != nil {
		return nil, fmt.Errorf("%s does not know how to %s: is it of an older version? (%w)", a.id, act, err)
	}

	if reply.Error != "" {
		return nil, fmt.Errorf("%s %s: %s", act, a.id, reply.Error)
	}

	return &reply.Status, nil
}

// unknown is the error for a node that nobody is, with those that there are.
func (a *administration) unknown(ctx context.Context) error {
	s, err := a.survey(ctx, nodePatience)
	if err != nil {
		return errors.Join(fmt.Errorf("no processor %s answers in namespace %s", a.id, a.namespace), err)
	}

	var ids []string
	for _, n := range s.nodes {
		ids = append(ids, n.ID)
	}

	if len(ids) == 0 {
		return a.nobody("processor")
	}

	return fmt.Errorf("no processor %s answers in namespace %s: there are %s", a.id, a.namespace, strings.Join(ids, ", "))
}

// await shows the progress until every dispatcher has followed and nothing is left.
func (a *administration) await(ctx context.Context) error {
	look := time.NewTicker(nodeLook)
	defer look.Stop()

	p := progress{began: time.Now()}

	for {
		s, err := a.survey(ctx, nodePatience)
		if err != nil {
			return a.late(ctx, err)
		}

		left, follow := a.left(s)
		if left == 0 && follow == len(s.dispatchers) {
			_, err := fmt.Fprintf(a.out, "%s: done in %s, on %d dispatchers\n", a.id, time.Since(p.began).Round(time.Millisecond), follow)

			return err
		}

		if err := p.show(a, left, len(s.dispatchers)-follow); err != nil {
			return err
		}

		select {
		case <-ctx.Done():
			return a.late(ctx, ctx.Err())
		case <-look.C:
		}
	}
}

func (a *administration) late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s is not done in time; it goes on, 'skyring status' shows it", a.act)
	}

	return err
}

// left is how many messages the node still has, and how many dispatchers have followed.
func (a *administration) left(s *survey) (messages, follow int) {
	for _, d := range s.dispatchers {
		for _, v := range d.Nodes {
			if v.ID != a.id {
				continue
			}

			out := v.Status != "open" && v.Status != "at-limit"
			if out == (a.act == bus.Drain) {
				follow++
			}

			messages += v.InFlight
		}
	}

	if n := s.node(a.id); n != nil {
		messages = max(messages, int(n.InFlight))
	}

	if a.act == bus.Undrain {
		messages = 0 // they come, and are no matter
	}

	return messages, follow
}

// progress tells how far a node is.
type progress struct {
	began time.Time
	most  int
	last  string
}

func (p *progress) show(a *administration, left, behind int) error {
	p.most = max(p.most, left)
	text := fmt.Sprintf("%s: %d messages left", a.id, left)

	if done := p.most - left; done > 0 && left > 0 {
		perMessage := time.Since(p.began) / time.Duration(done)
		text += fmt.Sprintf(", about %s", (perMessage * time.Duration(left)).Round(100*time.Millisecond))
	}

	if behind > 0 {
		text += fmt.Sprintf("; %d dispatchers have not heard of it yet", behind)
	}

	if text == p.last {
		return nil
	}

	p.last = text
	_, err := fmt.Fprintln(a.out, text)

	return err
}
