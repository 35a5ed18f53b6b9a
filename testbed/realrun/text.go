package realrun

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Text writes all rounds as a table for people, and then the verdict on each policy.
func (r Result) Text(w io.Writer) error {
	var b strings.Builder

	fmt.Fprintf(&b, "scenario %s in real time: %d messages after the warm-up, ", r.Config.Scenario, r.Config.Messages)

	if r.Config.Service > 0 {
		fmt.Fprintf(&b, "work of %v on average; ", r.Config.Service)
	}

	fmt.Fprint(&b, "response in mean service times; the simulation has the idle way\n\n")

	lines := []string{"policy\tseed\tidle way\toverrun\thandled twice\tresent\toff home\toverlapping simulated\treal\tlate\tat most\tmachine load\t" +
		"response simulated\treal\tratio\tsame node simulated\treal\tratio\t\n"}
	for _, o := range r.Rounds {
		lines = append(lines, o.line())
	}

	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)

	_, err := io.WriteString(t, strings.Join(lines, ""))
	if err := errors.Join(err, t.Flush()); err != nil {
		return fmt.Errorf("align the table: %w", err)
	}

	fmt.Fprintln(&b)

	for _, a := range r.Agreements() {
		verdict := "agrees"
		if !a.Agrees() {
			verdict = "does not agree"
		}

		fmt.Fprintf(&b, "%s %s within %.0f %%: response is %.3f times the simulated one, same-node share %.3f times\n",
			a.Policy, verdict, 100*Tolerance, a.Response, a.SameNode)
	}

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}

	return nil
}

func (o Round) line() string {
	return fmt.Sprintf("%s\t%d\t%v\t%.1f %%\t%d\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t%v\t%v\t%.1f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n",
		o.Policy, o.Seed, o.Way.Round(10*time.Microsecond), 100*o.Overrun, o.Again, o.Resent, 100*o.OffHome,
		100*o.SimulatedOverlapping, 100*o.Overlapping, o.Late.Round(10*time.Microsecond), o.Stall.Round(time.Millisecond), o.MachineLoad,
		o.Simulated.MeanResponse, o.Real.MeanResponse, ratio(o.Real.MeanResponse, o.Simulated.MeanResponse),
		o.Simulated.SameNode, o.Real.SameNode, ratio(o.Real.SameNode, o.Simulated.SameNode))
}
