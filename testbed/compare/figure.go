package compare

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"skyring/testbed/simulate"
)

// confidence of all intervals.
const confidence = 0.95

// figure is one of Figures, to be computed with.
type figure struct {
	name string // as in JSON
	of   func(*Figures) *float64
}

// figures are all of them, in the order of Figures.
func figures() []figure {
	return []figure{
		meanResponse(),
		p99(),
		throughput(),
		maxMean(),
		spread(),
		sameNode(),
		shed(),
		moved(),
	}
}

func meanResponse() figure {
	return figure{"meanResponse", func(f *Figures) *float64 { return &f.MeanResponse }}
}

func p99() figure { return figure{"p99", func(f *Figures) *float64 { return &f.P99 }} }

func throughput() figure {
	return figure{"throughput", func(f *Figures) *float64 { return &f.Throughput }}
}

func maxMean() figure  { return figure{"maxMean", func(f *Figures) *float64 { return &f.MaxMean }} }
func spread() figure   { return figure{"spread", func(f *Figures) *float64 { return &f.Spread }} }
func sameNode() figure { return figure{"sameNode", func(f *Figures) *float64 { return &f.SameNode }} }
func shed() figure     { return figure{"shed", func(f *Figures) *float64 { return &f.Shed }} }
func moved() figure    { return figure{"moved", func(f *Figures) *float64 { return &f.Moved }} }

// figuresOf are those of a run.
func figuresOf(r simulate.Result) Figures {
	f := Figures{
		MeanResponse: r.MeanResponse,
		P99:          r.P99,
		Throughput:   r.Throughput,
		MaxMean:      r.MaxMean,
		Spread:       r.Spread,
		SameNode:     r.SameNode,
		Shed:         r.Shed,
	}
	if r.MovedIdeal > 0 {
		f.Moved = r.MovedStations / r.MovedIdeal
	}

	return f
}

// estimate is a mean with the half-width of its interval.
type estimate struct{ mean, half float64 }

// estimateOf is the mean of samples, of which there are at least two, with Student's interval.
func estimateOf(samples []float64) estimate {
	n := float64(len(samples))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
	mean, deviation := stat.MeanStdDev(samples, nil)

	return estimate{mean: mean, half: t * deviation / math.Sqrt(n)}
}

// summarise fills in a row's means and intervals from its samples.
func (r *Row) summarise() {
	for _, f := range figures() {
		e := r.estimate(f)
		*f.of(&r.Figures), *f.of(&r.Interval) = e.mean, e.half
	}
}

func (r *Row) estimate(f figure) estimate { return estimateOf(r.values(f)) }

func (r *Row) values(f figure) []float64 {
	out := make([]float64, len(r.samples))
	for i := range r.samples {
		out[i] = *f.of(&r.samples[i])
	}

	return out
}

// difference is a - factor*b of a figure, seed by seed.
func difference(f figure, a, b *Row, factor float64) estimate {
	x, y := a.values(f), b.values(f)
	for i := range x {
		x[i] -= factor * y[i]
	}

	return estimateOf(x)
}
