package delphi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"skyring/ring/policy"
)

// What the paper asks of a round.
const (
	leastAnswered   = 0.90 // part of the answers that have to be there
	mostVariation   = 0.5  // a coefficient of variation over it is disagreement
	mostDisagreeing = 0.40 // part of the coefficients that may disagree
)

// Divisor says by what min + 4 likely + max is divided.
type Divisor uint8

const (
	// Sixth divides by 6, which gives the mean of an answer.
	Sixth Divisor = iota
	// Third divides by 3.
	Third
)

// Panel is who was asked, and how answers count.
type Panel struct {
	Experts int // how many were asked in each round, at least 1
	Divisor Divisor
}

// Verdict says what to do after a round.
type Verdict uint8

const (
	// Settled says that the needs are good for use.
	Settled Verdict = iota
	// TooFewAnswers says that a round lacks more than a tenth of its answers.
	TooFewAnswers
	// AnotherRound says that the experts still differ too much.
	AnotherRound
)

// String returns the verdict as people read it.
func (v Verdict) String() string {
	switch v {
	case Settled:
		return "settled"
	case TooFewAnswers:
		return "too few answers"
	case AnotherRound:
		return "another round"
	default:
		return "verdict " + strconv.Itoa(int(v))
	}
}

// Result is what rounds come to.
type Result struct {
	Verdict     Verdict
	Answered    float64 // part of the answers asked for that are there, of the round that has the fewest
	Disagreeing float64 // part of the last round's coefficients of variation that are over 0.5

	// Needs are N and TR so far, to be used when the verdict is Settled.
	Needs policy.Needs
}

// subject is what experts are asked about.
type subject struct{ server, factor string }

// Evaluate judges rounds, in their order. Errors: no expert asked or no answer given, more experts answered a round than were asked, or an unknown divisor.
func (p Panel) Evaluate(rounds ...Round) (Result, error) {
	if p.Experts < 1 {
		return Result{}, fmt.Errorf("%d experts: at least 1 has to be asked", p.Experts)
	}

	if p.Divisor > Third {
		return Result{}, fmt.Errorf("divisor %d is none: %d (6) and %d (3) are", p.Divisor, Sixth, Third)
	}

	all := p.estimates(slices.Concat(rounds...))
	if len(all) == 0 {
		return Result{}, errors.New("no answers: at least one round with one answer is needed")
	}

	r := Result{Answered: 1, Needs: needs(all)}

	for i, round := range rounds {
		if n := experts(round); n > p.Experts {
			return Result{}, fmt.Errorf("round %d: %d experts answered, %d were asked", i+1, n, p.Experts)
		}

		r.Answered = min(r.Answered, float64(len(round))/float64(p.Experts*len(all)))
	}

	r.Disagreeing = disagreeing(p.estimates(rounds[len(rounds)-1]))

	switch {
	case r.Answered < leastAnswered:
		r.Verdict = TooFewAnswers
	case r.Disagreeing > mostDisagreeing:
		r.Verdict = AnotherRound
	}

	return r, nil
}

func experts(round Round) int {
	names := map[string]bool{}
	for _, a := range round {
		names[a.Expert] = true
	}

	return len(names)
}

// estimates are the answers, each as one number, by what they are about.
func (p Panel) estimates(answers []Answer) map[subject][]float64 {
	divisor := 6.0
	if p.Divisor == Third {
		divisor = 3
	}

	all := map[subject][]float64{}
	for _, a := range answers {
		s := subject{a.Server, a.Factor}
		all[s] = append(all[s], (a.Min+4*a.Likely+a.Max)/divisor)
	}

	return all
}

// disagreeing is the part of the subjects whose coefficient of variation is too large.
func disagreeing(all map[subject][]float64) float64 {
	n := 0

	for _, estimates := range all {
		if variation(estimates) > mostVariation {
			n++
		}
	}

	return float64(n) / float64(max(len(all), 1))
}

// variation is the standard deviation over the mean, 0 where all are 0.
func variation(x []float64) float64 {
	m := mean(x)
	if m == 0 {
		return 0
	}

	squares := 0.0
	for _, v := range x {
		squares += (v - m) * (v - m)
	}

	return math.Sqrt(squares/float64(len(x))) / m
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}

	return sum / float64(len(x))
}

// needs are the means, and the totals where nobody was asked for them. Sums are taken in the order of names, so that they are the same each time.
func needs(all map[subject][]float64) policy.Needs {
	n := policy.Needs{Totals: map[string]float64{}, Nodes: map[string]map[string]float64{}}

	subjects := make([]subject, 0, len(all))
	for s := range all {
		subjects = append(subjects, s)
	}

	slices.SortFunc(subjects, func(a, b subject) int {
		return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.factor, b.factor))
	})

	for _, s := range subjects {
		if s.server == Total {
			continue
		}

		if n.Nodes[s.server] == nil {
			n.Nodes[s.server] = map[string]float64{}
		}

		m := mean(all[s])
		n.Nodes[s.server][s.factor] = m
		n.Totals[s.factor] += m
	}

	for _, s := range subjects {
		if s.server == Total {
			n.Totals[s.factor] = mean(all[s])
		}
	}

	return n
}
