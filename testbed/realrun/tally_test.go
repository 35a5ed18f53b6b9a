package realrun_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/testbed/realrun"
	"skyring/testbed/simulate"
)

// ideal is what perfect nodes answer when messages go to them in turns, but for those whose station has one that is not answered.
func ideal(load simulate.Config, messages []simulate.Message) []realrun.Answered {
	free := make([]time.Duration, len(load.Nodes))
	last := map[uint64]realrun.Answered{}
	out := make([]realrun.Answered, len(messages))
	turn := 0

	for i, m := range messages {
		a := last[m.Station]
		if a.At <= m.At {
			a.Node = turn % len(free)
			turn++
		}

		free[a.Node] = max(free[a.Node], m.At) + m.Work
		a.At = free[a.Node]
		a.Ordinal++
		last[m.Station], out[i] = a, a
	}

	return out
}

// TestTallyMeansWhatTheSimulationMeans makes the figures of a run on perfect nodes: they are those of the simulation.
func TestTallyMeansWhatTheSimulationMeans(t *testing.T) {
	c := realrun.DefaultConfig()
	c.Messages = 20_000

	load, err := c.Load("round-robin", 7)
	if err != nil {
		t.Fatal(err)
	}

	s, err := simulate.Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}

	messages := slices.Collect(simulate.Messages(load))
	got, want := realrun.Played(messages, ideal(load, messages)).Tally(load), realrun.FiguresOf(s)

	for name, pair := range map[string][2]float64{
		"mean response": {got.MeanResponse, want.MeanResponse},
		"throughput":    {got.Throughput, want.Throughput},
		"max/mean":      {got.MaxMean, want.MaxMean},
		"spread":        {got.Spread, want.Spread},
		"same node":     {got.SameNode, want.SameNode},
		"shed":          {got.Shed, want.Shed},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-6 {
			t.Errorf("%s: %v, simulated %v", name, pair[0], pair[1])
		}
	}

	if math.Abs(got.P99/want.P99-1) > 0.002 { // a histogram of 3 digits
		t.Errorf("p99: %v, simulated %v", got.P99, want.P99)
	}

	if got.MeanResponse < 1 || got.SameNode < 0.1 {
		t.Errorf("%+v: there is nothing to compare", got)
	}
}

func TestAlone(t *testing.T) {
	load := simulate.Config{Nodes: make([]simulate.Node, 2), Warmup: 2}
	at := func(at time.Duration, station uint64) simulate.Message {
		return simulate.Message{At: at, Station: station}
	}
	p := realrun.Played(
		[]simulate.Message{at(0, 1), at(1, 1), at(2, 1), at(3, 1), at(4, 2), at(5, 1), at(9, 2)},
		[]realrun.Answered{{At: 1, Node: 0}, {At: 2, Node: 1}, {At: 4, Node: 1}, {At: 5, Node: 1}, {At: 8, Node: 0}, {At: 6, Node: 0}, {At: 10, Node: 0}},
	)

	// Of station 1 the second message comes in the warm-up, the fourth before the third is answered, the third and the last alone; of station 2 the second is alone.
	overlapping, same := p.Alone(load)
	if overlapping != 0.25 || math.Abs(same-2.0/3) > 1e-9 {
		t.Errorf("overlapping %v, same node of the others %v: want 1/4 and 2/3", overlapping, same)
	}
}

func TestConserved(t *testing.T) {
	messages := []simulate.Message{{Station: 1}, {Station: 2}, {Station: 1}}

	for name, tt := range map[string]struct {
		ordinals [3]uint64
		node     int
		right    bool
	}{
		"each once":        {[3]uint64{1, 1, 2}, 0, true},
		"lost":             {[3]uint64{1, 1, 1}, 0, false},
		"twice":            {[3]uint64{1, 1, 3}, 0, false},
		"out of order":     {[3]uint64{2, 1, 1}, 0, false},
		"node of nowhere":  {[3]uint64{1, 1, 2}, 2, false},
		"other's sequence": {[3]uint64{1, 2, 2}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var answers []realrun.Answered
			for _, o := range tt.ordinals {
				answers = append(answers, realrun.Answered{Ordinal: o, Node: tt.node})
			}

			if err := realrun.Played(messages, answers).Conserved(2); (err == nil) != tt.right {
				t.Error(err)
			}
		})
	}
}

func TestBoard(t *testing.T) {
	of := func(sequence uint32) transport.Message {
		return transport.Message{PPID: realrun.PPID, Payload: realrun.Answer(sequence, 1, 0)}
	}
	other := of(1)
	other.PPID = 1

	for name, tt := range map[string]struct {
		answers  []transport.Message
		complete bool
		want     string // in the error; empty: none
	}{
		"all":              {[]transport.Message{of(2), of(1)}, true, ""},
		"one is missing":   {[]transport.Message{of(2)}, false, "1 have no answer"},
		"one came twice":   {[]transport.Message{of(2), of(2), of(1)}, true, "1 several"},
		"to nothing":       {[]transport.Message{of(2), of(1), of(3)}, true, "1 answers are to nothing"},
		"sequence 0":       {[]transport.Message{of(2), of(1), of(0)}, true, "1 answers are to nothing"},
		"other protocol":   {[]transport.Message{of(2), other}, false, "1 answers are to nothing"},
		"cannot be read":   {[]transport.Message{of(2), of(1), {PPID: realrun.PPID, Payload: []byte{1}}}, true, "1 answers are to nothing"},
		"nothing whatever": {nil, false, "2 have no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			complete, err := realrun.Board(2, tt.answers...)
			if complete != tt.complete {
				t.Errorf("complete: %v", complete)
			}

			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
