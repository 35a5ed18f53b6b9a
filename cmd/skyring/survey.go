package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
)

// surveyQuiet is how long nobody may have answered for a survey to be complete.
const surveyQuiet = 250 * time.Millisecond

// survey is what the dispatchers and processors of a namespace answered at one time.
type survey struct {
	dispatchers []*bus.DispatcherStatus // by id
	nodes       []*bus.NodeStatus       // by id
}

// operator asks dispatchers and processors over NATS.
type operator struct {
	conn      *bus.Conn
	namespace bus.Namespace
	config    Config
}

// operatorOptions are the flags of the commands that ask over NATS.
type operatorOptions struct {
	settings settings
	timeout  time.Duration
}

func (o *operatorOptions) register(cmd *cobra.Command, timeout time.Duration, usage string) {
	o.settings.register(cmd)
	stringFlag(cmd, &o.settings, "nats", "URL of the NATS server; none given: the configuration's, or that of a running 'skyring up'", func(c *Config) *string { return &c.NATS.URL })
	cmd.Flags().DurationVar(&o.timeout, "timeout", timeout, usage)
}

// run connects to NATS and calls do.
func (o *operatorOptions) run(cmd *cobra.Command, do func(ctx context.Context, by *operator) error) error {
	c, err := o.settings.load()
	if err != nil {
		return err
	}

	if c.NATS.URL == bus.DefaultConfig().URL && !cmd.Flags().Changed("nats") {
		c.NATS.URL = runningNATS(c.Up.Dir, c.NATS.URL)
	}

	if o.timeout <= 0 {
		return usagef("--timeout is %s: it must be over 0", o.timeout)
	}

	if err := c.validate(within("nats", c.NATS.Validate())); err != nil {
		return err
	}

	c.NATS.ConnectTimeout = min(c.NATS.ConnectTimeout, o.timeout)

	conn, err := bus.Connect(cmd.Context(), c.NATS, defaultID("operator"), newLogger(c.Log, cmd.ErrOrStderr()))
	if err != nil {
		return fmt.Errorf("%w\n--nats URL names another server", err)
	}
	defer conn.Close()

	return do(cmd.Context(), &operator{conn: conn, namespace: bus.Namespace(c.Namespace), config: c})
}

// survey asks everybody and waits until nobody more answers, or at most for limit.
func (o *operator) survey(ctx context.Context, limit time.Duration) (*survey, error) {
	var (
		both            sync.WaitGroup
		s               survey
		asking, askingN error
	)

	both.Go(func() {
		s.dispatchers, asking = collect[bus.DispatcherStatus](ctx, o.conn, o.namespace.DispatcherStatuses(), nil, limit)
	})
	both.Go(func() {
		s.nodes, askingN = collect[bus.NodeStatus](ctx, o.conn, o.namespace.NodeStatuses(), nil, limit)
	})
	both.Wait()

	if err := errors.Join(asking, askingN, ctx.Err()); err != nil {
		return nil, err
	}

	slices.SortFunc(s.dispatchers, func(a, b *bus.DispatcherStatus) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(s.nodes, func(a, b *bus.NodeStatus) int { return strings.Compare(a.ID, b.ID) })

	return &s, nil
}

// collect gathers the answers to a query, until nobody more answers or for limit.
func collect[T bus.DispatcherStatus | bus.NodeStatus | bus.Explanation](
	ctx context.Context, conn *bus.Conn, subject string, query []byte, limit time.Duration,
) ([]*T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	quiet := time.AfterFunc(limit, cancel)
	defer quiet.Stop()

	var (
		all    []*T
		faults error
	)

	err := conn.Collect(ctx, subject, query, func(data []byte) bool {
		one, err := bus.DecodeJSON[T](data)
		if err != nil {
			faults = err

			return false
		}

		all = append(all, one)
		quiet.Reset(surveyQuiet)

		return true
	})
	if errors.Is(err, bus.ErrNoResponders) {
		err = nil
	}

	return all, errors.Join(err, faults)
}

// checksums are the different ones that dispatchers have of their rings.
func (s *survey) checksums() []bus.Hex {
	seen := map[bus.Hex]bool{}
	for _, d := range s.dispatchers {
		seen[d.Checksum] = true
	}

	return slices.Sorted(maps.Keys(seen))
}

// policies are the different ones that dispatchers pick nodes by; one that says none is left out.
func (s *survey) policies() []string {
	seen := map[string]bool{}

	for _, d := range s.dispatchers {
		if d.Policy != "" {
			seen[d.Policy] = true
		}
	}

	return slices.Sorted(maps.Keys(seen))
}

// disagreement says what dispatchers have that is not the same, nil: nothing. Policies without a ring all have
// checksum 0, so that it alone does not tell them apart.
func (s *survey) disagreement() error {
	switch policies := s.policies(); {
	case len(policies) > 1:
		return fmt.Errorf("the dispatchers pick nodes by different policies (%s): dispatcher.policy must be the same", strings.Join(policies, ", "))
	case len(s.checksums()) > 1:
		return errors.New("the dispatchers do not have the same ring")
	default:
		return nil
	}
}

// node is what a processor said, nil: it did not answer.
func (s *survey) node(id string) *bus.NodeStatus {
	for _, n := range s.nodes {
		if n.ID == id {
			return n
		}
	}

	return nil
}

// views are what dispatchers know of a node, by dispatcher.
func (s *survey) views(id string) map[string]bus.NodeView {
	views := map[string]bus.NodeView{}

	for _, d := range s.dispatchers {
		for _, v := range d.Nodes {
			if v.ID == id {
				views[d.ID] = v
			}
		}
	}

	return views
}

// ids are those of all nodes that anybody knows, sorted.
func (s *survey) ids() []string {
	known := map[string]bool{}

	for _, n := range s.nodes {
		known[n.ID] = true
	}

	for _, d := range s.dispatchers {
		for _, v := range d.Nodes {
			known[v.ID] = true
		}
	}

	return slices.Sorted(maps.Keys(known))
}

// nobody is the error of a survey without an answer of those who are needed.
func (o *operator) nobody(who string) error {
	return fmt.Errorf("no %s answers in namespace %s at %s", who, o.namespace, o.config.NATS.URL)
}
