package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"skyring/processor/access"
	"skyring/processor/table"
	"skyring/statestore"
)

func stationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "station",
		Short: "look after the station table: who may log on, where, and how much",
		Long: `Reads and writes the station table straight in Redis, also while processors run. A station that is not in
the table can not log on. docs/stations.md tells what each value means.

Station ids are up to 16 hexadecimal digits. Keys are never shown again once they are written.` + runningHelp,
	}
	cmd.AddCommand(stationAddCommand(), stationImportCommand(), stationListCommand(), stationShowCommand(), stationBarCommand())

	return cmd
}

func stationAddCommand() *cobra.Command {
	var (
		options sessionOptions
		fields  stationFields
		beams   []string
		replace bool
	)

	cmd := &cobra.Command{
		Use:   "add ID --beam N",
		Short: "add a station, or change one with --replace",
		Long: `Adds a station to the table. Without --key a key is made and printed, once: give it to the terminal.
One that is there is left alone, unless --replace gives it the new values; it then stays logged on, and its
calls stay up. The new key is asked for at the next log-on.`,
		Example: `  skyring station add 17 --beam 3
  skyring station add 00a1 --beam 3 --beam 4 --max-calls 4 --key $(openssl rand -hex 32)`,
		Args: exactArgs(1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fields.ID = args[0]
			fields.Beams = beamList(strings.Join(beams, " "))

			return options.addStation(cmd, fields, replace)
		},
	}
	options.register(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&beams, "beam", nil, "beam that may serve the station; may be repeated")
	flags.StringVar(&fields.Key, "key", "", "key as 64 hexadecimal digits; none: one is made and printed, or kept with --replace")
	flags.StringVar(&fields.Class, "class", "", "class that the terminal has to say it is, 0 to 255; 0: any")
	flags.StringVar(&fields.MaxCalls, "max-calls", strconv.Itoa(defaultMaxCalls), "calls at once")
	flags.StringVar(&fields.MaxPriority, "max-priority", strconv.Itoa(defaultMaxPriority), "highest priority of its calls, 0 to 15")
	flags.StringVar(&fields.Barred, "barred", "", "true: it may not log on and is not called")
	flags.BoolVar(&replace, "replace", false, "change a station that is there")

	return cmd
}

// addStation adds one station, and prints a key that it made. One that is replaced keeps its
// key unless another is given.
func (o *sessionOptions) addStation(cmd *cobra.Command, fields stationFields, replace bool) error {
	keyless := fields.Key == ""
	if keyless {
		var secret [access.KeySize]byte
		if _, err := rand.Read(secret[:]); err != nil {
			return fmt.Errorf("make a key: %w", err)
		}

		fields.Key = hex.EncodeToString(secret[:])
	}

	entry, err := fields.entry()
	if err != nil {
		return usagef("the station is wrong:\n%w", err)
	}

	return o.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
		stations, mode := table.New(store), table.Add

		if replace {
			mode = table.Replace

			there, err := stations.Station(ctx, entry.ID)
			if err == nil && keyless {
				entry.Profile.Key, keyless = there.Profile.Key, false
			} else if err != nil && !errors.Is(err, table.ErrAbsent) {
				return err
			}
		}

		written, err := stations.Put(ctx, []table.Entry{entry}, mode)
		if errors.Is(err, table.ErrExists) {
			return fmt.Errorf("station %s is in the table already; --replace changes it", entry.ID)
		}

		if err != nil {
			return err
		}

		made := ""
		if keyless {
			made = fields.Key
		}

		return printAdded(cmd.OutOrStdout(), entry, written, made)
	})
}

func printAdded(w io.Writer, entry table.Entry, written table.Written, key string) error {
	what := "is as it was"

	switch {
	case written.Added > 0:
		what = "added"
	case written.Changed > 0:
		what = "changed"
	}

	text := fmt.Sprintf("station %s %s\n", entry.ID, what)
	if key != "" {
		text += fmt.Sprintf("key %s (shown this once)\n", key)
	}

	_, err := io.WriteString(w, text)

	return err
}

func stationImportCommand() *cobra.Command {
	var options sessionOptions

	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "add and change many stations from a CSV or JSON file",
		Long: `Reads stations from a file, or from standard input where FILE is -: CSV with a header, JSON objects one a
line, or one JSON array. Stations that are in the table get the new values, the others are added; none is
removed. When anything in the file is wrong, every fault is told with its line and nothing is written.`,
		Example: `  skyring station import stations.csv
  generate-stations | skyring station import -`,
		Args: exactArgs(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := readStationFile(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}

			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				written, err := table.New(store).Put(ctx, entries, table.Replace)
				if err != nil {
					return err
				}

				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d stations: %d added, %d changed, %d as they were\n",
					len(entries), written.Added, written.Changed, written.Unchanged)

				return err
			})
		},
	}
	options.register(cmd)

	return cmd
}

// readStationFile reads the file at path, or in where that is "-".
func readStationFile(in io.Reader, path string) (entries []table.Entry, err error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usagef("read stations: %w", err)
		}
		defer file.Close() //nolint:errcheck // it was only read

		in = file
	}

	lines, err := readStations(in)
	if err != nil {
		return nil, usagef("%s: nothing was imported:\n%w", path, err)
	}

	for _, line := range lines {
		entries = append(entries, line.Entry)
	}

	return entries, nil
}

func stationBarCommand() *cobra.Command {
	var (
		options sessionOptions
		off     bool
	)

	cmd := &cobra.Command{
		Use:   "bar ID",
		Short: "keep a station off, or let it on again with --off",
		Long: `Bars a station: it may not log on and is not called. One that is logged on is logged off by the gateway,
and its calls end. --off takes that back.`,
		Example: `  skyring station bar 17
  skyring station bar 17 --off`,
		Args: exactArgs(1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseStation(args[0])
			if err != nil {
				return &usageError{err: err}
			}

			return options.withStore(cmd, func(ctx context.Context, store *statestore.Store) error {
				changed, err := table.New(store).Bar(ctx, id, !off)
				if errors.Is(err, table.ErrAbsent) {
					return fmt.Errorf("no station %s in the table", id)
				}

				if err != nil {
					return err
				}

				state, when := "barred", ""
				if off {
					state = "not barred"
				}

				if !changed {
					when = ", as it was"
				}

				_, err = fmt.Fprintf(cmd.OutOrStdout(), "station %s is %s%s\n", id, state, when)

				return err
			})
		},
	}
	options.register(cmd)
	cmd.Flags().BoolVar(&off, "off", false, "let the station on again")

	return cmd
}
