package sctpbench

import "fmt"

// figure is what is to be reached.
type figure struct {
	of, against string
	associations,
	window int
	least float64
}

// figures are those of the design, section 10, and of the transport's own issue.
func figures() []figure {
	return []figure{
		{of: Skyring, against: PionStock, associations: 100, window: 8, least: 0.95},
		{of: Skyring, against: USRSCTP, associations: 100, window: 8, least: 1.5},
	}
}

// Verdict says whether a figure was reached.
type Verdict struct {
	Of, Against string
	Load        Load
	Least       float64
	Ratio       float64 // median of the rounds' own; 0 where one of the two was not measured
	Agree       int     // of Rounds: those that reached it
	Rounds      int
	CPU         float64 // ratio of the CPU time a message takes, median of the rounds' own: it depends less on who else runs
}

// Verdicts judge all figures, also those of which nothing was measured.
func (r *Report) Verdicts() []Verdict {
	var list []Verdict
	for _, f := range figures() {
		v := Verdict{Of: f.of, Against: f.against, Load: Load{f.associations, f.window}, Least: f.least}
		of, against := r.row(f.of, v.Load), r.row(f.against, v.Load)
		rates := ratios(of, against, Round.rate)
		for _, ratio := range rates {
			if ratio >= f.least {
				v.Agree++
			}
		}
		if v.Rounds = len(rates); v.Rounds > 0 {
			v.Ratio, v.CPU = median(rates), median(ratios(of, against, Round.cpu))
		}
		list = append(list, v)
	}
	return list
}

// String is a sentence.
func (v Verdict) String() string {
	wanted := fmt.Sprintf("%s echoes at least %v of %s with %d associations", v.Of, v.Least, v.Against, v.Load.Associations)
	switch {
	case v.Rounds == 0:
		return wanted + ": not measured"
	case v.Ratio >= v.Least:
		return fmt.Sprintf("%s: reached, %.2f; %d of %d rounds agree; CPU a message %.2f", wanted, v.Ratio, v.Agree, v.Rounds, v.CPU)
	default:
		return fmt.Sprintf("%s: NOT reached, %.2f; %d of %d rounds reach it; CPU a message %.2f", wanted, v.Ratio, v.Agree, v.Rounds, v.CPU)
	}
}

func (r Round) rate() float64 { return r.MessagesPerSecond }
func (r Round) cpu() float64  { return r.CPUMicros }

// ratios are those of a figure, round by round; none where one of the rows was not measured.
func ratios(of, against *Row, figure func(Round) float64) []float64 {
	if of == nil || against == nil {
		return nil
	}
	var list []float64
	for i, round := range of.Rounds {
		list = append(list, figure(round)/figure(against.Rounds[i]))
	}
	return list
}

// ratioText is that of the rates, for the table.
func ratioText(of, against *Row) string {
	list := ratios(of, against, Round.rate)
	if len(list) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", median(list))
}
