package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"skyring/processor/call"
	"skyring/processor/table"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
)

func poolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "look after the channels of beams",
		Long: `Reads and writes the channel pools straight in Redis, also while processors run. A call takes one channel
of the pool of each station's beam; where a beam has no pool, or no free channel, there is no call.` + runningHelp,
	}
	cmd.AddCommand(poolSetCommand(), poolListCommand())

	return cmd
}

func poolSetCommand() *cobra.Command {
	var (
		options  sessionOptions
		channels string
	)

	cmd := &cobra.Command{
		Use:   "set BEAM --channels FIRST-LAST",
		Short: "say which channels a beam has",
		Long: `Gives a beam the channels from FIRST to LAST. Channels outside of them that calls hold stay with them until
they end, and are then given out no more.`,
		Example: `  skyring pool set 3 --channels 1-100`,
		Args:    exactArgs(1, "BEAM"),
		RunE: func(cmd *cobra.Command, args []string) error {
			beam, err := strconv.ParseUint(args[0], 10, 16)
			if err != nil {
				return usagef("BEAM is %q: a number from 0 to 65535 is right", args[0])
			}

			first, last, err := parseChannels(channels)
			if err != nil {
				return err
			}

			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				created, err := table.New(store).SetPool(ctx, protocol.Beam(beam), first, last)
				if err != nil {
					return err
				}

				what := "changed"
				if created {
					what = "made"
				}

				_, err = fmt.Fprintf(cmd.OutOrStdout(), "pool of beam %d %s: channels %d to %d\n", beam, what, first, last)

				return err
			})
		},
	}
	options.register(cmd)
	cmd.Flags().StringVar(&channels, "channels", "", "numbers of the first and the last channel, as FIRST-LAST")

	return cmd
}

// parseChannels reads FIRST-LAST.
func parseChannels(text string) (first, last uint16, err error) {
	from, to, ok := strings.Cut(text, "-")
	low, errLow := strconv.ParseUint(strings.TrimSpace(from), 10, 16)
	high, errHigh := strconv.ParseUint(strings.TrimSpace(to), 10, 16)

	if !ok || errLow != nil || errHigh != nil || low == 0 || high < low {
		return 0, 0, usagef("--channels is %q: FIRST-LAST is right, such as 1-100, from 1 to 65535", text)
	}

	return uint16(low), uint16(high), nil
}

// poolView is what is shown of a pool.
type poolView struct {
	Beam     protocol.Beam `json:"beam"`
	First    uint16        `json:"first"`
	Last     uint16        `json:"last"`
	Held     int           `json:"held"`
	Free     int           `json:"free"`
	Granted  uint64        `json:"granted"`
	Refused  uint64        `json:"refused"`
	Freed    uint64        `json:"freed"`
	Channels []heldChannel `json:"channels"`
}

// heldChannel is a channel that a call holds.
type heldChannel struct {
	Number uint16 `json:"number"`
	Call   string `json:"call"`
	Side   string `json:"side"`
	Since  string `json:"since"`
}

func viewPool(p *call.Pool) poolView {
	v := poolView{
		Beam: p.Beam, First: p.First, Last: p.Last, Held: len(p.Held), Free: p.Free(), Granted: p.Granted, Refused: p.Refused, Freed: p.Freed,
		Channels: []heldChannel{},
	}

	for i := range p.Held {
		h := &p.Held[i]
		v.Channels = append(v.Channels, heldChannel{Number: h.Channel, Call: key.Format(h.Call), Side: h.Side.String(), Since: timestamp(h.Since)})
	}

	return v
}

func poolListCommand() *cobra.Command {
	var options sessionOptions

	cmd := &cobra.Command{
		Use:   "list",
		Short: "a line a beam",
		Long: `Prints a line a beam: its channels, how many calls hold and how many are free, and since the pool was made
how many were granted, refused for want of a free one, and given back. With --json an object a line,
with who holds each channel.`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				return listPools(ctx, cmd.OutOrStdout(), table.New(store), options.asJSON)
			})
		},
	}
	options.register(cmd)

	return cmd
}

func listPools(ctx context.Context, w io.Writer, pools *table.Table, asJSON bool) error {
	var views []poolView

	for pool, err := range pools.Pools(ctx) {
		if err != nil {
			return err
		}

		views = append(views, viewPool(pool))
	}

	slices.SortFunc(views, func(a, b poolView) int { return int(a.Beam) - int(b.Beam) })

	lines := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if !asJSON {
		if _, err := io.WriteString(lines, "BEAM\tCHANNELS\tHELD\tFREE\tGRANTED\tREFUSED\tFREED\n"); err != nil {
			return err
		}
	}

	for _, v := range views {
		var err error

		if asJSON {
			err = writeJSONLine(w, v)
		} else {
			_, err = fmt.Fprintf(lines, "%s\t%d-%d\t%d\t%d\t%d\t%d\t%d\n", v.Beam, v.First, v.Last, v.Held, v.Free, v.Granted, v.Refused, v.Freed)
		}

		if err != nil {
			return err
		}
	}

	return lines.Flush()
}
