package simulate

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what came of a run. Figures are of messages that came after the warm-up; counts are of the whole run.
type Result struct {
	// Counts of messages: Arrived = Served + Refused + Expired + InFlight.
	Arrived  uint64
	Served   uint64
	Refused  uint64 // no node might take them
	Expired  uint64 // all their attempts failed
	InFlight uint64 // at the end

	// Counts of attempts.
	Picks uint64
	Moved uint64 // attempts after the first
	Late  uint64 // answers to attempts that were given up

	MeanResponse  float64 // from arrival to answer, in mean service times
	P99           float64 // likewise, exact to 3 digits
	Throughput    float64 // served per second
	MaxMean       float64 // messages per node over its capacity and time of membership: largest over mean
	Spread        float64 // likewise: (largest - smallest) / mean
	SameNode      float64 // share of messages on the node of their station's message before, of those with one before
	Overlapping   float64 // share of those messages that came while their station had another one in the system, which they go with; 0 without a window
	SameNodeAlone float64 // as SameNode, of the others
	Shed          float64 // share of messages refused or expired
	MeanInSystem  float64 // time average of messages that came and are neither answered nor shed
	ArrivalRate   float64 // messages per second that were not shed
	MovedStations float64 // share of stations whose node under no load is another after the first event that adds or removes a node
	MovedIdeal    float64 // share that has to be another at least: the capacity of that node over all with it; 0: no such event
}

// tally is what a run counts.
type tally struct {
	result Result

	from, now     int64 // ns: end of the warm-up; up to where the areas are
	arrived, shed uint64
	served        uint64
	sum           float64 // ns of response
	histogram     *hdrhistogram.Histogram
	inSystem      int
	area          float64 // messages times ns

	last          []uint16 // per rank: node + 1 of its station's message before
	repeated, met uint64   // messages with one before; of them on the same node
	overlaps      uint64   // of repeated, those that overlap the one before
	alone         uint64   // of met, those that do not
	perNode       []float64
	membership    []int64 // ns after the warm-up, per node
}

const longestResponse = int64(24 * 3600 * 1e9)

func newTally(c Config) *tally {
	return &tally{
		from:       int64(c.Warmup),
		histogram:  hdrhistogram.New(1, longestResponse, 3),
		last:       make([]uint16, c.Stations.Count),
		perNode:    make([]float64, len(c.Nodes)),
		membership: make([]int64, len(c.Nodes)),
	}
}

// advance brings the area up to now.
func (t *tally) advance(now int64) {
	t.area += float64(t.inSystem) * float64(max(0, now-max(t.now, t.from)))
	t.now = now
}

func (t *tally) come(m *message, now int64) {
	t.advance(now)
	t.inSystem++
	t.result.Arrived++

	if m.counts = now >= t.from; m.counts {
		t.arrived++
	}
}

// picked takes the first pick of a message in.
func (t *tally) picked(m *message) {
	before := t.last[m.rank]
	t.last[m.rank] = uint16(m.node + 1)

	if !m.counts {
		return
	}

	t.perNode[m.node]++

	if before != 0 {
		same := before == uint16(m.node+1)
		t.repeated++

		if same {
			t.met++
		}

		if m.overlaps {
			t.overlaps++
		} else if same {
			t.alone++
		}
	}
}

func (t *tally) serve(m *message, now int64) {
	t.advance(now)
	t.inSystem--
	t.result.Served++

	if !m.counts {
		return
	}

	t.served++
	t.sum += float64(now - m.arrived)
	_ = t.histogram.RecordValue(min(max(now-m.arrived, 1), longestResponse)) // in range
}

func (t *tally) drop(m *message, count *uint64, now int64) {
	t.advance(now)
	t.inSystem--
	*count++

	if m.counts {
		t.shed++
	}
}

// finish makes the figures of a run that ended at now.
func (t *tally) finish(c Config, now int64) Result {
	t.advance(now)

	r := t.result
	r.InFlight = uint64(t.inSystem)

	service, seconds := float64(c.Service.Mean), float64(now-t.from)/1e9
	r.MeanResponse = t.sum / max(float64(t.served), 1) / service
	r.P99 = float64(t.histogram.ValueAtQuantile(99)) / service
	r.Throughput = float64(t.served) / seconds
	r.Shed = float64(t.shed) / max(float64(t.arrived), 1)
	r.SameNode = float64(t.met) / max(float64(t.repeated), 1)
	r.Overlapping = float64(t.overlaps) / max(float64(t.repeated), 1)
	r.SameNodeAlone = float64(t.alone) / max(float64(t.repeated-t.overlaps), 1)
	r.MeanInSystem = t.area / 1e9 / seconds
	r.ArrivalRate = float64(t.arrived-t.shed) / seconds
	r.MaxMean, r.Spread = t.evenness(c)

	return r
}

// evenness is (largest/mean, (largest-smallest)/mean) of messages per capacity and time over the nodes that were members; the mean is of all messages
// over all capacity, so that a small node counts little in it.
func (t *tally) evenness(c Config) (maxMean, spread float64) {
	var messages, capacity float64

	least, most := math.Inf(1), 0.0

	for i, n := range t.perNode {
		weight := float64(c.Nodes[i].Capacity) * float64(t.membership[i])
		if weight == 0 {
			continue
		}

		messages += n
		capacity += weight
		least, most = min(least, n/weight), max(most, n/weight)
	}

	if messages == 0 {
		return 0, 0
	}

	mean := messages / capacity

	return most / mean, (most - least) / mean
}
