package compare

import (
	"fmt"
	"math"
	"strings"
)

// claim is what is published of policies, as data that rows can be held against.
type claim struct {
	text     string
	policies []string // it speaks of
	judge    judge
}

// judge says what the rows of a scenario make of a claim.
type judge func(t table) (Verdict, string)

// at names a row.
type at struct {
	policy  string
	nodes   int
	load    float64
	variant string
}

func (a at) with(policy string) at {
	a.policy = policy

	return a
}

// table is the rows of a scenario. Names of rows are the scenario's own, so that one that is not there is a fault in the code.
type table map[at]*Row

func (t table) row(a at) *Row {
	r, found := t[a]
	if !found {
		panic(fmt.Sprintf("compare: a claim speaks of a row that is not there: %+v", a))
	}

	return r
}

// where describes a point but for its policy.
func (a at) where() string {
	s := fmt.Sprintf("%d nodes", a.nodes)
	if a.load > 0 {
		s += fmt.Sprintf(", load %v", a.load)
	}

	if a.variant != "" {
		s += ", " + a.variant
	}

	return s
}

// side says on which side of 0 an interval lies: below it is what was claimed.
func (e estimate) side() Verdict {
	switch {
	case e.mean+e.half < 0:
		return Reproduced
	case e.mean-e.half > 0:
		return Refuted
	default:
		return Undecidable
	}
}

func (e estimate) String() string { return fmt.Sprintf("%s ± %s", digits(e.mean), digits(e.half)) }

// digits writes a number with four significant digits or so.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a >= 1000:
		return fmt.Sprintf("%.0f", x)
	case a >= 100:
		return fmt.Sprintf("%.1f", x)
	case a >= 10:
		return fmt.Sprintf("%.2f", x)
	case a >= 0.01 || a == 0:
		return fmt.Sprintf("%.3f", x)
	default:
		return fmt.Sprintf("%.1e", x)
	}
}

// less claims that a figure of one row is smaller than factor times that of another.
func less(f figure, a, b at, factor float64) judge {
	return func(t table) (Verdict, string) {
		ra, rb := t.row(a), t.row(b)
		d := difference(f, ra, rb, factor)

		return d.side(), compared(f, a, b, t, d, factor)
	}
}

// compared is the sentence on two rows.
func compared(f figure, a, b at, t table, d estimate, factor float64) string {
	times := ""
	if factor != 1 {
		times = fmt.Sprintf(" to %v times it", factor)
	}

	return fmt.Sprintf("%s of %s is %v, of %s %v, difference%s %v (%s)",
		f.name, a.policy, t.row(a).estimate(f), b.policy, t.row(b).estimate(f), times, d, common(a, b))
}

// common is where two rows are, each named where they differ.
func common(a, b at) string {
	if a.where() == b.where() {
		return a.where()
	}

	return a.where() + "; against " + b.where()
}

// more claims that a figure of one row is larger than factor times that of another.
func more(f figure, a, b at, factor float64) judge {
	return func(t table) (Verdict, string) {
		d := difference(f, t.row(a), t.row(b), factor)

		return estimate{-d.mean, d.half}.side(), compared(f, a, b, t, d, factor)
	}
}

// within claims that a figure of one row differs from that of another by less than a part of the latter.
func within(f figure, a, b at, part float64) judge {
	return func(t table) (Verdict, string) {
		over, under := difference(f, t.row(a), t.row(b), 1+part), difference(f, t.row(a), t.row(b), 1-part)
		why := compared(f, a, b, t, difference(f, t.row(a), t.row(b), 1), 1) + fmt.Sprintf(", to be within %v %%", 100*part)

		return worst(over.side(), estimate{-under.mean, under.half}.side()), why
	}
}

// atMost claims that a figure of a row does not exceed a bound.
func atMost(f figure, a at, bound float64) judge {
	return func(t table) (Verdict, string) {
		e := t.row(a).estimate(f)

		return estimate{e.mean - bound, e.half}.side(), fmt.Sprintf("%s of %s is %v, claimed at most %v (%s)", f.name, a.policy, e, bound, a.where())
	}
}

// atLeast claims that a figure of a row is not below a bound.
func atLeast(f figure, a at, bound float64) judge {
	return func(t table) (Verdict, string) {
		e := t.row(a).estimate(f)

		return estimate{bound - e.mean, e.half}.side(), fmt.Sprintf("%s of %s is %v, claimed at least %v (%s)", f.name, a.policy, e, bound, a.where())
	}
}

// every claims all of some claims: refuted if one is.
func every(judges ...judge) judge {
	return func(t table) (Verdict, string) {
		verdict := Reproduced
		whys := make([]string, 0, len(judges))

		for _, j := range judges {
			v, why := j(t)
			verdict = worst(verdict, v)
			whys = append(whys, string(v)+": "+why)
		}

		return verdict, strings.Join(whys, "; ")
	}
}

func worst(a, b Verdict) Verdict {
	switch {
	case a == Refuted || b == Refuted:
		return Refuted
	case a == Undecidable || b == Undecidable:
		return Undecidable
	default:
		return Reproduced
	}
}
