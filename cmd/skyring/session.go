package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/key"
	"skyring/statestore"
)

func sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "show what Redis holds of sessions",
		Long:  `Reads sessions straight from Redis.` + runningHelp,
	}
	cmd.AddCommand(sessionListCommand(), sessionShowCommand())

	return cmd
}

func sessionListCommand() *cobra.Command {
	var options sessionOptions

	cmd := &cobra.Command{
		Use:   "list",
		Short: "a line a session",
		Long: `Prints a line a session: key, PPID, count and bytes of its messages, digest of its chains, version,
first and last message, and the node that committed the last. Stations, calls and channel pools (PPID
1163088720, ESSP) show their state in place of the chains, and - where a column is not for them; a pool's
state is how many of its channels are held. With --json an object a line, with a "kind" for these three.`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				return listSessions(ctx, cmd.OutOrStdout(), store, options)
			})
		},
	}
	options.register(cmd)
	cmd.Flags().IntVar(&options.limit, "limit", 0, "print at most this many; 0: all")

	return cmd
}

func sessionShowCommand() *cobra.Command {
	var options sessionOptions

	cmd := &cobra.Command{
		Use:     "show KEY",
		Short:   "everything about one session",
		Example: `  skyring session show isup:pc=11522-12163/cic=213`,
		Args:    exactArgs(1, "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := key.Parse(args[0])
			if err != nil {
				return usagef("KEY %q: %w\nit is written as 'skyring session list' prints it", args[0], err)
			}

			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				return showSession(ctx, cmd.OutOrStdout(), store, wanted, options)
			})
		},
	}
	options.register(cmd)

	return cmd
}

// sessionOptions are the flags of the session commands.
type sessionOptions struct {
	settings settings
	redisURL string
	asJSON   bool
	limit    int
}

func (o *sessionOptions) register(cmd *cobra.Command) {
	o.settings.register(cmd)
	redisFlag(cmd, &o.redisURL)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
}

// withStore opens the store that the flags name and calls do with it.
func (o *sessionOptions) withStore(cmd *cobra.Command, do func(context.Context, *statestore.Store) error) error {
	if o.limit < 0 {
		return usagef("--limit is %d: 0 (all) or more is right", o.limit)
	}

	c, err := o.settings.load()
	if err != nil {
		return err
	}

	switch {
	case o.redisURL != "":
		c.Redis.URL = o.redisURL
	case c.Redis.URL == statestore.DefaultConfig().URL:
		c.Redis.URL = runningStore(c.Up.Dir, c.Redis.URL)
	}

	if err := c.validate(within("redis", c.store().Validate())); err != nil {
		return err
	}

	store, err := statestore.Open(cmd.Context(), c.store(), newLogger(c.Log, cmd.ErrOrStderr()))
	if err != nil {
		return fmt.Errorf("%w\n--redis URL names another server", err)
	}

	return errors.Join(do(cmd.Context(), store), store.Close())
}

func listSessions(ctx context.Context, w io.Writer, store *statestore.Store, options sessionOptions) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if !options.asJSON {
		if _, err := io.WriteString(table, "KEY\tPPID\tCOUNT\tBYTES\tCHAIN\tVERSION\tFIRST\tLAST\tNODE\n"); err != nil {
			return err
		}
	}

	printed := 0

	for session, err := range store.Sessions(ctx) {
		if err != nil {
			return errors.Join(err, table.Flush())
		}

		line := summaryOf(session)
		if options.asJSON {
			err = writeJSONLine(w, line)
		} else {
			err = line.write(table)
		}

		if err != nil {
			return err
		}

		if printed++; printed == options.limit {
			break
		}
	}

	return table.Flush()
}

func showSession(ctx context.Context, w io.Writer, store *statestore.Store, wanted []byte, options sessionOptions) error {
	session, err := store.Session(ctx, wanted)
	if errors.Is(err, statestore.ErrAbsent) {
		return fmt.Errorf("no session %s in Redis", key.Format(wanted))
	}

	if err != nil {
		return err
	}

	detail := detailOf(session)
	if options.asJSON {
		return writeJSON(w, detail)
	}

	return detail.write(w)
}

// sessionForm is a view of a session that has a form for people; its JSON form is its own.
type sessionForm interface{ write(w io.Writer) error }

// summaryOf is a line of the listing, by the kind of session.
func summaryOf(s statestore.Session) sessionForm { //nolint:ireturn // which view it is, is the question
	if ofESSP(s) {
		return esspDetails(s).esspSummary
	}

	return sessionLine(s)
}

// detailOf is everything about a session, by its kind.
func detailOf(s statestore.Session) sessionForm { //nolint:ireturn // likewise
	if ofESSP(s) {
		return esspDetails(s)
	}

	return sessionDetails(s)
}

// timestamp prints microseconds since the Unix epoch as UTC.
func timestamp(microseconds int64) string {
	if microseconds == 0 {
		return "-"
	}

	return time.UnixMicro(microseconds).UTC().Format("2006-01-02T15:04:05.000Z")
}
