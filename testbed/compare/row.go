package compare

// Figures are what a run of a policy came to. In a row they are means over the seeds, or half-widths of 95 % intervals.
type Figures struct {
	MeanResponse float64 `json:"meanResponse"` // from arrival to answer, in mean service times
	P99          float64 `json:"p99"`          // likewise
	Throughput   float64 `json:"throughput"`   // messages served per second
	MaxMean      float64 `json:"maxMean"`      // messages per node by its capacity: largest over mean
	Spread       float64 `json:"spread"`       // likewise: (largest - smallest) / mean
	SameNode     float64 `json:"sameNode"`     // share of messages on the node of their station's last one
	Shed         float64 `json:"shed"`         // share of messages that no node took or answered
	Moved        float64 `json:"moved"`        // stations whose node under no load is another after the first change of nodes, by how many have to; 0: no change
}

// Row is one policy at one point of a scenario.
type Row struct {
	Policy  string  `json:"policy"`
	Nodes   int     `json:"nodes"`
	Load    float64 `json:"load,omitempty"`    // arrivals by what the nodes can do; 0: users who wait for answers
	Variant string  `json:"variant,omitempty"` // what else tells it from other rows
	PickNs  float64 `json:"pickNs"`            // nanoseconds that it was charged for a pick

	Figures

	Interval Figures   `json:"ci"`     // half-widths of 95 % intervals
	Claims   []Finding `json:"claims"` // that speak of the policy

	samples []Figures // by seed
}

// Verdict is what became of a claim.
type Verdict string

const (
	// Reproduced claims hold here, with 95 % confidence.
	Reproduced Verdict = "reproduced"
	// Refuted claims do not, with the same confidence.
	Refuted Verdict = "refuted"
	// Undecidable claims may or may not: the interval holds the border.
	Undecidable Verdict = "undecidable"
)

// Finding is a claim and what the rows say of it.
type Finding struct {
	Claim   string  `json:"claim"`
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why"` // one sentence with the numbers
}

// Report is a scenario that was run.
type Report struct {
	Scenario Description `json:"scenario"`
	Seeds    int         `json:"seeds"`
	Rows     []Row       `json:"rows"`
	Claims   []Finding   `json:"claims"` // all, in the scenario's order
}
