package replay

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of what is told apart: longer times count as the longest.
const (
	shortestLatency = time.Microsecond
	longestLatency  = 10 * time.Minute
	latencyDigits   = 3
)

// latencies collects the times from sending to receipt. It may be used by many
// goroutines.
type latencies struct {
	mu        sync.Mutex
	histogram *hdrhistogram.Histogram // guarded by mu; in microseconds
}

func newLatencies() *latencies {
	return &latencies{
		histogram: hdrhistogram.New(shortestLatency.Microseconds(), longestLatency.Microseconds(), latencyDigits),
	}
}

// record notes one time.
func (l *latencies) record(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()

	d = min(max(d, shortestLatency), longestLatency)
	_ = l.histogram.RecordValue(d.Microseconds()) // fails out of bounds only
}

// summary is the distribution so far, nil when nothing was recorded.
func (l *latencies) summary() *Latency {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.histogram.TotalCount() == 0 {
		return nil
	}

	at := func(percent float64) float64 {
		return (time.Duration(l.histogram.ValueAtQuantile(percent)) * time.Microsecond).Seconds()
	}

	return &Latency{P50: at(50), P99: at(99), P999: at(99.9)}
}
