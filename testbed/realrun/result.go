package realrun

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"skyring/testbed/compare"
	"skyring/testbed/simulate"
)

const (
	// Tolerance is how far a real figure may be from the simulated one, as a part of it, to agree.
	Tolerance = 0.15
	// confidence of intervals.
	confidence = 0.95
)

// Result is what came of a real run.
type Result struct {
	Config Config
	Rounds []Round
}

// Round is one policy under one seed.
type Round struct {
	Policy string
	Seed   uint64

	// Simulated are of the same messages, but for SameNode, which is of 100,000.
	Simulated, Real compare.Figures // Moved is not measured: no node comes or goes

	Overlapping   float64 // share of messages that were sent while their station had another one in the system: they go to its node
	SameNodeAlone float64 // of the others, the share on the node of their station's message before

	SimulatedOverlapping, SimulatedAlone float64 // the same of the 100,000

	Messages    int           // all of which were answered once, with an effect once
	Way         time.Duration // median response of an idle installation without work; the simulation has half of it each way
	Overrun     float64       // by which part more than the work workers were busy, for timers that fire late; commits not counted
	Again       int           // messages handled twice, without work, since another node had changed their session
	Resent      uint64        // messages that the dispatcher sent once more
	OffHome     float64       // share of messages whose station is not where the ring has it, for the bound on keys of a node
	Late        time.Duration // by which the generator itself was late with messages, on average: the machine did other things
	Stall       time.Duration // and at most
	MachineLoad float64       // of the last minute, as the round began; 0: not known

	nodes int
	load  float64 // arrivals by what the nodes can do
}

// Agreement is how real and simulated figures of a policy go together, over all seeds.
type Agreement struct {
	Policy   string
	Response float64 // mean real response over mean simulated one
	SameNode float64 // likewise
}

// Agrees tells whether both are within Tolerance.
func (a Agreement) Agrees() bool {
	return math.Abs(a.Response-1) <= Tolerance && math.Abs(a.SameNode-1) <= Tolerance
}

// Agreements are those of all policies, in the order of the configuration.
func (r Result) Agreements() []Agreement {
	out := make([]Agreement, 0, len(r.Config.Policies))
	for _, p := range r.Config.Policies {
		simulated, real := r.of(p)
		s, m := mean(simulated), mean(real)
		out = append(out, Agreement{Policy: p, Response: ratio(m.MeanResponse, s.MeanResponse), SameNode: ratio(m.SameNode, s.SameNode)})
	}

	return out
}

// ratio is 1 of nothing to nothing.
func ratio(a, b float64) float64 {
	if a == b {
		return 1
	}

	return a / b
}

// Rows are two for each policy, as package compare has them: variant "real", and "simulated, idle way included" of the same messages. Intervals are 0 with one seed.
func (r Result) Rows() []compare.Row {
	var rows []compare.Row

	for _, p := range r.Config.Policies {
		simulated, real := r.of(p)

		for _, v := range []struct {
			variant string
			samples []compare.Figures
		}{
			{"real", real},
			{"simulated, idle way included", simulated},
		} {
			rows = append(rows, compare.Row{
				Policy: p, Nodes: r.Rounds[0].nodes, Load: math.Round(r.Rounds[0].load*1e6) / 1e6, Variant: v.variant,
				Figures: mean(v.samples), Interval: interval(v.samples), Claims: []compare.Finding{},
			})
		}
	}

	return rows
}

func (r Result) of(policy string) (simulated, real []compare.Figures) {
	for _, round := range r.Rounds {
		if round.Policy == policy {
			simulated = append(simulated, round.Simulated)
			real = append(real, round.Real)
		}
	}

	return simulated, real
}

// figuresOf are those of a simulation.
func figuresOf(r simulate.Result) compare.Figures {
	return compare.Figures{
		MeanResponse: r.MeanResponse,
		P99:          r.P99,
		Throughput:   r.Throughput,
		MaxMean:      r.MaxMean,
		Spread:       r.Spread,
		SameNode:     r.SameNode,
		Shed:         r.Shed,
	}
}

func mean(samples []compare.Figures) compare.Figures {
	return each(samples, func(x []float64) float64 { return stat.Mean(x, nil) })
}

// interval is half-widths of Student's intervals.
func interval(samples []compare.Figures) compare.Figures {
	if len(samples) < 2 {
		return compare.Figures{}
	}

	n := float64(len(samples))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)

	return each(samples, func(x []float64) float64 { return t * stat.StdDev(x, nil) / math.Sqrt(n) })
}

// each applies f to the samples of each figure.
func each(samples []compare.Figures, f func([]float64) float64) compare.Figures {
	of := func(figure func(compare.Figures) float64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = figure(s)
		}

		return f(values)
	}

	return compare.Figures{
		MeanResponse: of(func(f compare.Figures) float64 { return f.MeanResponse }),
		P99:          of(func(f compare.Figures) float64 { return f.P99 }),
		Throughput:   of(func(f compare.Figures) float64 { return f.Throughput }),
		MaxMean:      of(func(f compare.Figures) float64 { return f.MaxMean }),
		Spread:       of(func(f compare.Figures) float64 { return f.Spread }),
		SameNode:     of(func(f compare.Figures) float64 { return f.SameNode }),
		Shed:         of(func(f compare.Figures) float64 { return f.Shed }),
	}
}

// machineLoad is the machine's load average of the last minute, where Linux tells it.
func machineLoad() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}

	first, _, _ := strings.Cut(string(b), " ")
	load, _ := strconv.ParseFloat(first, 64) // 0: not known

	return load
}
