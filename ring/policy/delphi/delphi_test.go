package delphi_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"skyring/ring/policy/delphi"
)

// round has an answer per expert and subject ("server factor"); equal bounds unless given as min/likely/max.
func round(t *testing.T, lines ...string) delphi.Round {
	t.Helper()

	r, err := delphi.Read(strings.NewReader(header + strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()

	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestEvaluateNeeds(t *testing.T) {
	t.Parallel()

	first := round(t,
		"ada,x,failures,1,2,9",        // 18/6 = 3
		"ben,x,failures,2,4,6",        // 24/6 = 4
		"ada,y,failures,5,5,5",        // 5
		"ben,y,failures,0,6,12",       // 36/6 = 6
		"ada,x,response,10,10,10",     // 10
		"ben,x,response,10,10,10",     // 10
		"ada,total,response,40,40,40", // 40
		"ben,total,response,60,60,60", // 60
	)
	second := round(t,
		"ada,x,failures,5,5,5", "ben,x,failures,6,6,6", "ada,y,failures,5,5,5", "ben,y,failures,6,6,6",
		"ada,x,response,12,12,12", "ben,x,response,12,12,12", "ada,total,response,50,50,50", "ben,total,response,50,50,50",
	)

	for divisor, factor := range map[delphi.Divisor]float64{delphi.Sixth: 1, delphi.Third: 2} {
		r, err := delphi.Panel{Experts: 2, Divisor: divisor}.Evaluate(first, second)
		if err != nil || r.Verdict != delphi.Settled {
			t.Fatalf("%+v, %v", r, err)
		}

		near(t, "x failures", r.Needs.Nodes["x"]["failures"], factor*(3+4+5+6)/4)
		near(t, "y failures", r.Needs.Nodes["y"]["failures"], factor*(5+6+5+6)/4)
		near(t, "x response", r.Needs.Nodes["x"]["response"], factor*(10+10+12+12)/4)
		near(t, "total failures: the sum", r.Needs.Totals["failures"], factor*(4.5+5.5))
		near(t, "total response: as asked", r.Needs.Totals["response"], factor*50)

		if _, there := r.Needs.Nodes[delphi.Total]; there {
			t.Error("total became a node")
		}
	}
}

// Nine of ten answers are enough, in each round.
func TestEvaluateAnswered(t *testing.T) {
	t.Parallel()

	var ten []string
	for e := range 10 {
		ten = append(ten, fmt.Sprintf("e%d,x,failures,1,1,1", e))
	}

	panel := delphi.Panel{Experts: 10}

	for _, c := range []struct {
		rounds   []delphi.Round
		answered float64
		want     delphi.Verdict
	}{
		{[]delphi.Round{round(t, ten...)}, 1, delphi.Settled},
		{[]delphi.Round{round(t, ten[:9]...)}, 0.9, delphi.Settled},
		{[]delphi.Round{round(t, ten[:8]...)}, 0.8, delphi.TooFewAnswers},
		{[]delphi.Round{round(t, ten[:8]...), round(t, ten...)}, 0.8, delphi.TooFewAnswers},
		// Asked about y as well, which one expert answered.
		{[]delphi.Round{round(t, append([]string{"e0,y,failures,1,1,1"}, ten...)...)}, 0.55, delphi.TooFewAnswers},
	} {
		r, err := panel.Evaluate(c.rounds...)
		if err != nil || r.Verdict != c.want {
			t.Errorf("%+v, %v, want %v", r, err, c.want)
		}

		near(t, "answered", r.Answered, c.answered)
	}
}

// Two of five coefficients over 0.5 may be, three are too many; 0.5 is not over it.
func TestEvaluateDisagreeing(t *testing.T) {
	t.Parallel()

	differ := func(servers int, low, high int) delphi.Round {
		var lines []string

		for s := range 5 {
			a, b := 1, 1
			if s < servers {
				a, b = low, high
			}

			lines = append(lines, fmt.Sprintf("ada,s%d,failures,%d,%d,%d", s, a, a, a), fmt.Sprintf("ben,s%d,failures,%d,%d,%d", s, b, b, b))
		}

		return round(t, lines...)
	}

	for _, c := range []struct {
		name   string
		rounds []delphi.Round
		part   float64
		want   delphi.Verdict
	}{
		{"two of five", []delphi.Round{differ(2, 1, 4)}, 0.4, delphi.Settled}, // mean 2.5, deviation 1.5: 0.6
		{"three of five", []delphi.Round{differ(3, 1, 4)}, 0.6, delphi.AnotherRound},
		{"at the bound", []delphi.Round{differ(5, 1, 3)}, 0, delphi.Settled}, // mean 2, deviation 1: 0.5
		{"all say 0", []delphi.Round{differ(5, 0, 0)}, 0, delphi.Settled},
		{"the last round counts", []delphi.Round{differ(5, 1, 4), differ(0, 1, 1)}, 0, delphi.Settled},
		{"also when it is worse", []delphi.Round{differ(0, 1, 1), differ(5, 1, 4)}, 1, delphi.AnotherRound},
	} {
		r, err := delphi.Panel{Experts: 2}.Evaluate(c.rounds...)
		if err != nil || r.Verdict != c.want {
			t.Errorf("%s: %+v, %v, want %v", c.name, r, err, c.want)
		}

		near(t, c.name, r.Disagreeing, c.part)
	}
}

func TestEvaluateRefuses(t *testing.T) {
	t.Parallel()

	two := round(t, "ada,x,failures,1,1,1", "ben,x,failures,1,1,1")

	for _, c := range []struct {
		panel  delphi.Panel
		rounds []delphi.Round
		want   string
	}{
		{delphi.Panel{}, []delphi.Round{two}, "0 experts: at least 1 has to be asked"},
		{delphi.Panel{Experts: 1}, []delphi.Round{two}, "round 1: 2 experts answered, 1 were asked"},
		{delphi.Panel{Experts: 2}, nil, "no answers: at least one round with one answer is needed"},
		{delphi.Panel{Experts: 2}, []delphi.Round{{}}, "no answers: at least one round with one answer is needed"},
		{delphi.Panel{Experts: 2, Divisor: 9}, []delphi.Round{two}, "divisor 9 is none: 0 (6) and 1 (3) are"},
	} {
		if _, err := c.panel.Evaluate(c.rounds...); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()

	if got := fmt.Sprint(delphi.Settled, delphi.TooFewAnswers, delphi.AnotherRound, delphi.Verdict(7)); got != "settled too few answers another round verdict 7" {
		t.Error(got)
	}
}
