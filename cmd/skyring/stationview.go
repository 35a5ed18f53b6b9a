package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"skyring/processor/access"
	"skyring/processor/table"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
)

// stationView is what is shown of a station: its entry without the key, and where it is.
type stationView struct {
	ID          string            `json:"id"`
	State       string            `json:"state"`
	Beam        protocol.Beam     `json:"beam"` // of the last log-on
	Beams       []protocol.Beam   `json:"beams"`
	Class       uint8             `json:"class"`
	MaxCalls    uint8             `json:"maxCalls"`
	MaxPriority protocol.Priority `json:"maxPriority"`
	Barred      bool              `json:"barred"`
	Epoch       string            `json:"association,omitempty"` // of the last log-on
	Boot        string            `json:"bootNonce,omitempty"`
	Heard       string            `json:"heard,omitempty"`
	Calls       []stationCall     `json:"calls"`
}

// stationCall is one call of a station.
type stationCall struct {
	Key       string            `json:"key"`
	Reference string            `json:"reference"`
	Side      string            `json:"side"`
	Peer      string            `json:"peer"`
	Priority  protocol.Priority `json:"priority"`
	State     string            `json:"state"`
}

func viewStation(id protocol.StationID, s *access.Station) stationView {
	v := stationView{
		ID: id.String(), State: s.State.String(), Beam: s.Beam, Beams: s.Profile.Beams, Class: s.Profile.Class, MaxCalls: s.Profile.MaxCalls,
		MaxPriority: s.Profile.MaxPriority, Barred: s.Profile.Barred, Calls: []stationCall{},
	}
	if s.Boot != 0 {
		v.Epoch, v.Boot, v.Heard = fmt.Sprintf("%016x", s.Epoch), fmt.Sprintf("%016x", s.Boot), timestamp(s.Heard)
	}

	for i := range s.Calls {
		c := &s.Calls[i]
		v.Calls = append(v.Calls, stationCall{
			Key: key.Format(c.Key), Reference: c.Reference.String(), Side: c.Side.String(), Peer: c.Peer.String(),
			Priority: c.Priority, State: c.State.String(),
		})
	}

	return v
}

func stationListCommand() *cobra.Command {
	var options sessionOptions

	cmd := &cobra.Command{
		Use:   "list",
		Short: "a line a station, by id",
		Long: `Prints a line a station: id, state of its log-on, beam of the last one, beams it may be in, class, calls it
has and may have at once, highest priority, and whether it is barred. With --json an object a line.`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				return listStations(ctx, cmd.OutOrStdout(), table.New(store), options.asJSON)
			})
		},
	}
	options.register(cmd)

	return cmd
}

func listStations(ctx context.Context, w io.Writer, stations *table.Table, asJSON bool) error {
	views := map[protocol.StationID]stationView{}

	var faults []error

	for listed, err := range stations.Stations(ctx) {
		switch {
		case err != nil && listed.ID == 0:
			return err
		case err != nil:
			faults = append(faults, err)
		default:
			views[listed.ID] = viewStation(listed.ID, listed.Station)
		}
	}

	lines := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if !asJSON {
		if _, err := io.WriteString(lines, "ID\tSTATE\tBEAM\tBEAMS\tCLASS\tCALLS\tMAX\tPRIORITY\tBARRED\n"); err != nil {
			return err
		}
	}

	for _, id := range slices.Sorted(maps.Keys(views)) {
		var err error

		if v := views[id]; asJSON {
			err = writeJSONLine(w, v)
		} else {
			_, err = fmt.Fprintf(lines, "%s\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t%t\n",
				v.ID, v.State, v.Beam, joinBeams(v.Beams), v.Class, len(v.Calls), v.MaxCalls, uint8(v.MaxPriority), v.Barred)
		}

		if err != nil {
			return err
		}
	}

	return errors.Join(append(faults, lines.Flush())...)
}

func joinBeams(beams []protocol.Beam) string {
	words := make([]string, len(beams))
	for i, beam := range beams {
		words[i] = beam.String()
	}

	return strings.Join(words, ",")
}

func stationShowCommand() *cobra.Command {
	var options sessionOptions

	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "everything about one station but its key",
		Example: `  skyring station show 17`,
		Args:    exactArgs(1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseStation(args[0])
			if err != nil {
				return &usageError{err: err}
			}

			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				station, err := table.New(store).Station(ctx, id)
				if errors.Is(err, table.ErrAbsent) {
					return fmt.Errorf("no station %s in the table", id)
				}

				if err != nil {
					return err
				}

				view := viewStation(id, station)
				if options.asJSON {
					return writeJSON(cmd.OutOrStdout(), view)
				}

				return view.write(cmd.OutOrStdout())
			})
		},
	}
	options.register(cmd)

	return cmd
}

// write prints the station for people.
func (v *stationView) write(w io.Writer) error {
	lines := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	v.rows(func(name, format string, values ...any) { fmt.Fprintf(lines, name+"\t"+format+"\n", values...) }) //nolint:errcheck // Flush tells

	return lines.Flush()
}

func (v *stationView) rows(print func(name, format string, values ...any)) {
	row := func(name string, value any) { print(name, "%v", value) }

	row("station", v.ID)
	row("state", v.State)
	row("beams", joinBeams(v.Beams))
	row("class", v.Class)
	row("calls at once", v.MaxCalls)
	row("highest priority", uint8(v.MaxPriority))
	row("barred", v.Barred)

	if v.Boot != "" {
		row("beam", v.Beam)
		row("association", v.Epoch)
		row("boot nonce", v.Boot)
		row("heard", v.Heard)
	}

	for _, c := range v.Calls {
		row("call", fmt.Sprintf("%s %s, %s with %s, %s (%s)", c.Reference, c.State, c.Side, c.Peer, c.Priority, c.Key))
	}
}
