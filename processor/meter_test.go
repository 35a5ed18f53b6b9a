package processor_test

import (
	"testing"
	"time"

	"skyring/processor"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	m := processor.NewMeter(start)
	if q := m.Quiet(at(50)); q != 50*time.Millisecond {
		t.Errorf("quiet since the start for %v", q)
	}
	m.Begin(10, 5000, at(100))
	if q := m.Quiet(at(5000)); q != 0 {
		t.Errorf("quiet for %v with messages in flight", q)
	}
	m.End(10, at(100), at(5000))
	if q := m.Quiet(at(5010)); q != 10*time.Millisecond {
		t.Errorf("quiet for %v, 10 ms after the last answer", q)
	}
	if rate, bytes, response := m.Reading(at(10_000)); rate != 1 || bytes != 500 || response < 800_000 || response > 4_900_000 {
		t.Errorf("10 messages of 500 bytes in 10 s, of 4.9 s each: %d/s, %d bytes/s, %d us", rate, bytes, response)
	}
	if rate, bytes, _ := m.Reading(at(11_000)); rate != 0 || bytes != 0 {
		t.Errorf("nothing in 1 s: %d/s, %d bytes/s", rate, bytes)
	}
	for range 1000 {
		m.Begin(1, 3, at(12_000))
		m.End(1, at(12_000), at(12_003))
	}
	if rate, bytes, response := m.Reading(at(13_000)); rate != 500 || bytes != 1500 || response < 2999 || response > 3001 {
		t.Errorf("1000 messages of 3 bytes in 2 s, of 3 ms each: %d/s, %d bytes/s, %d us", rate, bytes, response)
	}
}
