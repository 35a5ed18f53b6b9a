package sctpbench

import "slices"

// Report is what a run has found.
type Report struct {
	Rows          []Row
	LeftOut       []string // a sentence for each contestant that cannot be had here
	Before, After string   // load averages of the machine, over 1, 5 and 15 minutes; empty where it tells none
}

// Row is what was measured of a contestant under a load: medians of its rounds.
type Row struct {
	Name string `json:"name"`
	Load

	MessagesPerSecond float64 `json:"messagesPerSecond"` // there and back
	CPUMicros         float64 `json:"cpuMicros"`         // of both ends, a message, kernel included
	P50               float64 `json:"p50"`               // seconds of a round trip, with the window's messages under way
	P99               float64 `json:"p99"`

	Rounds []Round `json:"rounds,omitempty"`
}

// Round is a row's raw figures of one round.
type Round struct {
	Messages          int     `json:"messages"`
	MessagesPerSecond float64 `json:"messagesPerSecond"`
	CPUMicros         float64 `json:"cpuMicros"`
	P50               float64 `json:"p50"`
	P99               float64 `json:"p99"`
	// Others is the share of the machine's processor time that went to anything else meanwhile, 0 to 1.
	Others float64 `json:"others"`
}

func newRound(o outcome) Round {
	return Round{
		Messages:          o.counted,
		MessagesPerSecond: float64(o.counted) / o.took.Seconds(),
		CPUMicros:         o.cpu.Seconds() * 1e6 / float64(o.counted),
		P50:               o.p50.Seconds(),
		P99:               o.p99.Seconds(),
		Others:            o.others,
	}
}

func (r *Row) summarise() {
	r.MessagesPerSecond = medianOf(r.Rounds, func(r Round) float64 { return r.MessagesPerSecond })
	r.CPUMicros = medianOf(r.Rounds, func(r Round) float64 { return r.CPUMicros })
	r.P50 = medianOf(r.Rounds, func(r Round) float64 { return r.P50 })
	r.P99 = medianOf(r.Rounds, func(r Round) float64 { return r.P99 })
}

// WithoutRounds are the rows without their raw rounds.
func (r *Report) WithoutRounds() []Row {
	rows := slices.Clone(r.Rows)
	for i := range rows {
		rows[i].Rounds = nil
	}
	return rows
}

// others is the median share of the machine that went to others.
func (r *Report) others() float64 {
	var all []Round
	for _, row := range r.Rows {
		all = append(all, row.Rounds...)
	}
	return medianOf(all, func(r Round) float64 { return r.Others })
}

// row finds one; nil when it is not there.
func (r *Report) row(name string, load Load) *Row {
	for i := range r.Rows {
		if r.Rows[i].Name == name && r.Rows[i].Load == load {
			return &r.Rows[i]
		}
	}
	return nil
}

func medianOf[T any](items []T, of func(T) float64) float64 {
	values := make([]float64, len(items))
	for i, item := range items {
		values[i] = of(item)
	}
	return median(values)
}

// median of at least one value; of an even number, the lower of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
