package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/ring/policy"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// print shows the report to people.
func (r *report) print(w io.Writer) error {
	return errors.Join(r.printDispatchers(w), r.printRing(w), r.printNodes(w), r.printAlarms(w))
}

func (r *report) printDispatchers(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "DISPATCHER\tUP\tSTATIONS AT\tASSOCIATIONS\tUNANSWERED\tMSG/S\tRING\tSTATE")

	for _, d := range r.Dispatchers {
		state := "serves"
		if d.Draining {
			state = "drains"
		}

		checksum := "-"
		if d.Checksum != 0 {
			checksum = d.Checksum.String()
		}

		_, printErr := fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%.0f\t%s\t%s\n", d.ID, uptime(d.Uptime), stationsArrive(d),
			d.Associations, d.Unanswered, d.MessagesPerSecond, checksum, state)
		err = errors.Join(err, printErr)
	}

	return errors.Join(err, table.Flush())
}

// stationsArrive is where a dispatcher listens, in the form of --listen.
func stationsArrive(d *bus.DispatcherStatus) string {
	if len(d.Listeners) == 0 { // of an older version
		return d.Address
	}

	all := make([]string, 0, len(d.Listeners))

	for _, l := range d.Listeners {
		var mode transport.Mode

		address, err := netip.ParseAddrPort(l.Address)
		if err = errors.Join(err, mode.UnmarshalText([]byte(l.Mode))); err != nil { // of a newer version
			all = append(all, l.Mode+"://"+l.Address)

			continue
		}

		all = append(all, transport.Target{Mode: mode, Address: address}.String())
	}

	return strings.Join(all, ",")
}

func (r *report) printRing(w io.Writer) error {
	text := "ring: the same on all dispatchers"

	switch policies := strings.Join(r.Ring.Policies, ", "); {
	case len(r.Ring.Policies) > 1:
		text = "policy: DIFFERS between dispatchers: " + policies
	case !r.Ring.Agreed:
		text = "ring: DIFFERS between dispatchers"
	case !r.Ring.exists() && policies != "" && policies != policy.Default:
		text = "policy: " + policies + " on all dispatchers, which has no ring"
	}

	_, err := fmt.Fprintf(w, "\n%s\n\n", text)

	return err
}

func (r *report) printNodes(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "NODE\tUP\tSTATE\tCAPACITY\tSHARE\tIN FLIGHT\tMSG/S\tRESPONSE\tDRAINED")

	for i := range r.Nodes {
		n := &r.Nodes[i]

		up, drained, inFlight, rate, response := "-", "-", "-", "-", "-"
		if n.Answers {
			up, drained = uptime(n.Uptime), "no"
			inFlight, rate = strconv.FormatInt(n.InFlight, 10), strconv.FormatUint(uint64(n.MessagesPerSecond), 10)
			response = (time.Duration(n.ResponseMicros) * time.Microsecond).String()
		}

		if n.Drained {
			drained = "yes"
		}

		share := "-"
		if r.Ring.exists() {
			share = fmt.Sprintf("%.1f %%", 100*n.Share)
		}

		_, printErr := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			n.ID, up, n.state(), n.capacity(), share, inFlight, rate, response, drained)
		err = errors.Join(err, printErr)
	}

	return errors.Join(err, table.Flush())
}

func (r *report) printAlarms(w io.Writer) error {
	if len(r.Alarms) == 0 {
		_, err := io.WriteString(w, "\nno alarms\n")

		return err
	}

	_, err := io.WriteString(w, "\nalarms:\n")
	for _, a := range r.Alarms {
		_, printErr := fmt.Fprintf(w, "  %s: %s\n", a.From, a.Text)
		err = errors.Join(err, printErr)
	}

	return err
}

// capacity is what a node announces, and where that is on its way to.
func (n *nodeReport) capacity() string {
	if n.CapacitySteps == 0 {
		return strconv.FormatUint(uint64(n.Capacity), 10)
	}

	return fmt.Sprintf("%d (to %d)", n.Capacity, n.CapacityTarget)
}

func uptime(seconds float64) string {
	return (time.Duration(seconds) * time.Second).String()
}
