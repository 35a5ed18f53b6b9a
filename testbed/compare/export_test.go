package compare

// Judged is a claim's verdict on two policies a and b, whose mean responses by seed are given.
func Judged(kind string, a, b []float64, bound float64) (Verdict, string) {
	t := table{}

	for policy, samples := range map[string][]float64{"a": a, "b": b} {
		r := &Row{Policy: policy, Nodes: 1}
		for _, x := range samples {
			r.samples = append(r.samples, Figures{MeanResponse: x})
		}

		t[at{policy: policy, nodes: 1}] = r
	}

	rowA, rowB := at{policy: "a", nodes: 1}, at{policy: "b", nodes: 1}
	judges := map[string]judge{
		"less":   less(meanResponse(), rowA, rowB, bound),
		"more":   more(meanResponse(), rowA, rowB, bound),
		"within": within(meanResponse(), rowA, rowB, bound),
		"most":   atMost(meanResponse(), rowA, bound),
		"least":  atLeast(meanResponse(), rowA, bound),
		"every":  every(atMost(meanResponse(), rowA, bound), atMost(meanResponse(), rowB, bound)),
	}

	return judges[kind](t)
}

// Interval is mean and half-width of samples.
func Interval(samples []float64) (mean, half float64) {
	e := estimateOf(samples)

	return e.mean, e.half
}

// Point is the name of a row with how much there is to simulate.
type Point struct {
	Policy, Where string
	Fault         error // of its configuration
	Messages      float64
}

// Points are those of a scenario.
func Points(name string) []Point {
	s, err := find(name)
	if err != nil {
		panic(err)
	}

	var out []Point

	for _, p := range s.points() {
		p.config.Policy = p.policy
		out = append(out, Point{p.policy, p.where(), p.config.Validate(), p.config.Arrivals.Rate * p.config.Duration.Seconds()})
	}

	return out
}
