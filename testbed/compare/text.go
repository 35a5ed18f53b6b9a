package compare

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Text writes a report for people: an aligned table with intervals as ±, then the claims.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder

	fmt.Fprintf(&b, "%s: %s\n%s; %d seeds, ± is a 95 %% interval; response in mean service times\n\n", r.Scenario.Name, r.Scenario.Summary, r.Scenario.Source, r.Seeds)

	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	lines := []string{"policy\tnodes\tload\tvariant\tpick ns\t" + strings.Join(names(), "\t") + "\n"}

	for i := range r.Rows {
		lines = append(lines, strings.Join(r.Rows[i].cells(), "\t")+"\n")
	}

	_, err := io.WriteString(t, strings.Join(lines, ""))
	if err := errors.Join(err, t.Flush()); err != nil {
		return fmt.Errorf("align the table: %w", err)
	}

	for _, c := range r.Claims {
		fmt.Fprintf(&b, "\n%s: %s\n    %s\n", c.Verdict, c.Claim, c.Why)
	}

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}

	return nil
}

func names() []string {
	var out []string
	for _, f := range figures() {
		out = append(out, f.name)
	}

	return out
}

// cells are those of a row; a dash stands for what does not apply.
func (r *Row) cells() []string {
	load, variant := "closed", "-"
	if r.Load > 0 {
		load = fmt.Sprintf("%v", r.Load)
	}

	if r.Variant != "" {
		variant = r.Variant
	}

	out := []string{r.Policy, strconv.Itoa(r.Nodes), load, variant, fmt.Sprintf("%.0f", r.PickNs)}

	for _, f := range figures() {
		e := estimate{*f.of(&r.Figures), *f.of(&r.Interval)}
		if f.name == moved().name && e == (estimate{}) {
			out = append(out, "-")
		} else {
			out = append(out, e.String())
		}
	}

	return out
}
