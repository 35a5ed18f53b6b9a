package processor

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// recent is how much one message weighs in the average response: the last hundred or so count.
const recent = 0.02

// meter measures the load that heartbeats tell of.
type meter struct {
	inFlight atomic.Int64  // received, not answered
	bytes    atomic.Uint64 // of payload received since start
	active   atomic.Int64  // when the last frame came or was answered; ns since start

	start time.Time // static after newMeter

	mu       sync.Mutex
	response float64   // guarded by mu; moving average in us
	answered uint64    // guarded by mu; since the last reading
	taken    uint64    // guarded by mu; bytes at the last reading
	read     time.Time // guarded by mu; when that was
}

func newMeter(now time.Time) *meter { return &meter{start: now, read: now} }

// begin notes messages that came, with so many bytes of payload.
func (m *meter) begin(messages, bytes int, now time.Time) {
	m.inFlight.Add(int64(messages))
	m.bytes.Add(uint64(bytes))
	m.active.Store(int64(now.Sub(m.start)))
}

// end notes messages that arrived together and are answered now.
func (m *meter) end(messages int, arrived, now time.Time) {
	took := now.Sub(arrived)
	m.active.Store(int64(now.Sub(m.start)))
	m.inFlight.Add(-int64(messages))
	weight := 1 - math.Pow(1-recent, float64(messages))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered += uint64(messages)
	m.response += weight * (float64(took.Microseconds()) - m.response)
}

// measured is what the meter read.
type measured struct {
	messages, bytes uint32 // answered and received, per second since the last reading
	response        uint32 // moving average, us
}

// reading measures since the last reading.
func (m *meter) reading(now time.Time) (r measured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes := m.bytes.Load()
	if elapsed := now.Sub(m.read).Seconds(); elapsed > 0 {
		r.messages = uint32(min(float64(m.answered)/elapsed, math.MaxUint32))
		r.bytes = uint32(min(float64(bytes-m.taken)/elapsed, math.MaxUint32))
	}
	m.answered, m.taken, m.read = 0, bytes, now
	r.response = uint32(min(m.response, math.MaxUint32))
	return r
}

// quiet tells for how long nothing came and nothing was left to do.
func (m *meter) quiet(now time.Time) time.Duration {
	if m.inFlight.Load() != 0 {
		return 0
	}
	return now.Sub(m.start) - time.Duration(m.active.Load())
}
